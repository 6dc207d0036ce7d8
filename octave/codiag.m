function [B, info] = codiag(C, varargin)
% CODIAG  Joint diagonalization of symmetric or Hermitian matrices.
%
%   B = codiag(C) finds the matrix B for which all D = B * C(:,:,i) * B' are as diagonal as can be. C is a p x p x n
%   array of n real symmetric or complex Hermitian matrices, for the likelihood positive definite.
%
%   [B, info] = codiag(C, 'name', value, ...) with the options
%
%   'criterion'   'likelihood' (default), for positive definite matrices; 'frobenius', the share of the energy off the
%                 diagonals, over orthogonal B, for any symmetric matrices; 'least-squares', the share of the energy that the
%                 fit A * L * A' leaves, for any symmetric matrices
%   'method'      'newton' (default); 'quasi-newton' for the first two criteria; 'pham' and 'row-wise' for the likelihood;
%                 'jacobi' for 'frobenius'; 'acdc', 'uwedge' or 'ffdiag' for 'least-squares'
%   'start'       'spectral' (default), 'whitener', 'identity', or a matrix B
%   'weights'     n numbers, how much each matrix counts
%   'orthogonal'  whether B is kept orthogonal: common principal components
%   'rank'        'full' (default), 'auto' to reduce the set to the range of its mean, or a number
%   'shrinkage'   from 0 to 1: each matrix becomes (1 - s) * C + s * trace(C) / p * eye(p)
%   'symmetrize'  whether matrices that are not symmetric are replaced by their symmetric parts
%   'tol'         the gradient norm at which the solve has converged, 1e-8 by default
%   'max_iter'    the largest number of iterations, 1000 by default
%   'restarts'    how many further starts to try, 0 by default; the answer of lowest loss is kept
%   'canonical'   whether B is ordered and scaled: unit mean powers, components by how much their power varies (true)
%   'threads'     the number of threads; as many as pay by default
%   'callback'    a function of a struct (iteration, loss, gradient_norm, ...) that stops the solve by returning true
%   'verbose'     whether each iteration is printed
%   'stability'   how many sets drawn from the matrices are solved too, to tell which components would come again, 0 by default
%
%   info is a struct: A, the patterns (B * A is the identity); criterion, method, status, converged, n_iter, loss,
%   gradient_norm, condition_number; powers, the diagonals of D, one row per matrix; residuals, each matrix's own loss; margin and
%   pair, the two components that are hardest to tell apart, and how well they are; start_losses; history, one column vector per
%   field; if asked for, stability, how surely each component comes again, from 0 to 1, and matches, the same in each trial.
%
%   Example
%       A = randn(4);
%       C = zeros(4, 4, 30);
%       for i = 1:30, C(:, :, i) = A * diag(rand(4, 1) + 0.1) * A'; end
%       [B, info] = codiag(C);
%       B * A              % one entry per row
%
%   See also QNDIAG, CODIAG_DEMO, BUILD_CODIAG.

if nargin == 0
    print_usage_of('codiag');
end
options = codiag_options(varargin{:});
[answer, shape] = codiag_solve(C, options);
B = answer.B;
info = rmfield(answer, {'B', 'constant', 'callback_failed'});
info.method = options.method;
if ~info.converged && ~strcmp(info.status, 'stopped')
    warning('codiag:notConverged', 'not converged (%s): gradient norm %.2e after %d iterations of %d x %d x %d matrices', ...
            info.status, info.gradient_norm, info.n_iter, shape(1), shape(1), shape(2));
end
end

function print_usage_of(name)
error('codiag:usage', 'no matrices are given: see help %s', name);
end
