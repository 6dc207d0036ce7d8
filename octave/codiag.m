function [B, info] = codiag(C, varargin)
% CODIAG  Joint diagonalization of symmetric or Hermitian matrices.
%
%   B = codiag(C) computes the matrix B for which all D = B * C(:,:,i) * B' are as diagonal as
%   possible. C is a p x p x n array of n real symmetric or complex Hermitian matrices. The
%   likelihood criterion requires positive definite matrices.
%
%   [B, info] = codiag(C, 'name', value, ...) sets options:
%
%   'criterion'     criterion that is minimized: 'likelihood' (default), for positive definite
%                   matrices; 'frobenius', the fraction of the energy outside the diagonals, over
%                   orthogonal B; 'least-squares', the fraction of the energy not explained by the
%                   fit A * L * A'. The last two accept indefinite matrices.
%   'method'        method of minimization: 'newton' (default) for all criteria; 'quasi-newton' for
%                   'likelihood' and 'frobenius'; 'pham' and 'row-wise' (slower, for comparison) for
%                   'likelihood'; 'jacobi' for 'frobenius'; 'acdc', 'uwedge' and 'ffdiag' for
%                   'least-squares'
%   'init'          starting point: 'spectral' (default), 'whitener', 'identity' or a matrix B
%   'weights'       weights of the n matrices (default: equal)
%   'orthogonal'    whether B is constrained to be orthogonal: common principal components (default:
%                   false)
%   'n_components'  number of components: [] (default) for p; 'auto' for the rank of the mean
%                   matrix; or a number up to p, for a projection of the matrices on this number of
%                   leading dimensions of the mean
%   'shrinkage'     shrinkage s from 0 (default) to 1: each matrix is replaced by (1 - s) * C + s *
%                   trace(C) / p * eye(p)
%   'symmetrize'    whether each matrix is replaced by its symmetric part (default: false, asymmetry
%                   is an error)
%   'tol'           convergence tolerance of the gradient norm (default: 1e-8)
%   'max_iter'      maximum number of iterations (default: 1000)
%   'n_restarts'    number of additional starting points; the result with the lowest loss is
%                   returned (default: 0)
%   'canonical'     whether the components are normalized and sorted (default: true)
%   'sort_by'       order of the components: 'contrast' (default), the variation of their powers for
%                   'likelihood' and their energy for other criteria; or 'stability', which requires
%                   n_resamples or n_restarts above 0
%   'n_jobs'        number of threads (default: chosen automatically)
%   'callback'      function of a struct with fields iteration, loss, gradient_norm and others,
%                   called at each iteration; it stops the solve by returning true
%   'verbose'       whether each iteration is printed (default: false)
%   'n_resamples'   number of bootstrap resamples of the matrices used to estimate how reproducible
%                   each component is (default: 0, not estimated)
%
%   info is a struct with the fields
%
%   A                 the patterns, one per column; B * A is the identity
%   criterion         the criterion
%   method            the method
%   status            'converged', 'max_iter', 'stalled' (no step decreases the loss), 'interrupted'
%                     (by the callback) or 'collinear' (columns of A became linearly dependent)
%   converged         whether the gradient norm reached the tolerance
%   n_iter            number of iterations
%   loss              loss at B
%   gradient_norm     norm of the relative gradient at B
%   condition_number  condition number of B
%   powers            diagonals of D, one row per matrix
%   residuals         loss of each matrix
%   margin            identifiability margin of the least separable pair of components
%   pair              indices of the least separable pair of components
%   start_losses      loss reached from each starting point
%   history           struct with one column vector per quantity, with one entry per iteration
%   stability         stability of each component, from 0 to 1: the median of matches (only if
%                     estimated)
%   matches           similarity, from 0 to 1, of each component (column) to the most similar
%                     component of each trial (row) (only if estimated)
%
%   Example
%       A = randn(4);
%       C = zeros(4, 4, 30);
%       for i = 1:30, C(:, :, i) = A * diag(rand(4, 1) + 0.1) * A'; end
%       [B, info] = codiag(C);
%       B * A              % a scaled permutation
%
%   See also QNDIAG, CODIAG_DEMO, BUILD_CODIAG.

if nargin == 0
    error('codiag:usage', 'expected an array of matrices; see help codiag');
end
options = codiag_options(varargin{:});
[result, shape] = codiag_solve(C, options);
B = result.B;
info = rmfield(result, {'B', 'constant', 'callback_failed'});
info.method = options.method;
if ~info.converged && ~strcmp(info.status, 'interrupted')
    warning('codiag:notConverged', 'not converged (%s): gradient norm %.2e after %d iterations of %d x %d x %d matrices', ...
            info.status, info.gradient_norm, info.n_iter, shape(1), shape(1), shape(2));
end
end
