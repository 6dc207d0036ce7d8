function [D, B, infos] = qndiag(C, varargin)
% QNDIAG  Joint diagonalization by the quasi-Newton method, with the arguments of the authors' function.
%
%   [D, B, infos] = qndiag(C) finds B for which B * squeeze(C(i,:,:)) * B' are as diagonal as can be, by Algorithm 1 of
%   P. Ablin, J.-F. Cardoso and A. Gramfort, Beyond Pham's algorithm for joint diagonalization, Proc. ESANN 2019. C is an
%   n x p x p array of positive definite matrices; D is one of the same size, the transformed matrices.
%
%   qndiag(C, 'name', value, ...) with the options
%
%   'B0'             the start; the whitener of the mean by default
%   'weights'        n numbers, how much each matrix counts
%   'max_iter'       the largest number of iterations, 1000 by default (also 'maxiter')
%   'tol'            the iteration stops when the Frobenius norm of the gradient is at most this, 1e-6 by default
%   'lambda_min'     the floor of the determinants of the Hessian's blocks, 1e-4 by default
%   'max_ls_tries'   how often a step is halved, 10 by default
%   'return_B_list'  whether infos.B_list has all iterates, p x p x (iterations + 1)
%   'verbose'        whether each iteration is printed
%
%   infos has t_list, the seconds; gradient_list, the gradient norms before each step; loss_list, the losses after each step,
%   -log|det B| + mean(sum(log(diag(D)))) / 2; and what the authors' does not have: converged and status. No warning is given
%   if the solve does not converge. Neither order nor scale of the rows of B is changed.
%
%   Example
%       [D, B] = qndiag(C, 'max_iter', 100, 'tol', 1e-5);
%
%   See also CODIAG, whose Newton method needs fewer iterations.

if nargin == 0
    error('codiag:usage', 'No signal provided');
end
if ndims(C) ~= 3
    error('codiag:input', 'Input C should be 3 dimensional');
end
if mod(numel(varargin), 2) == 1
    error('codiag:options', 'There should be an even number of optional parameters');
end
[n, p, columns] = size(C);
if p ~= columns
    error('codiag:input', 'expected an n x p x p array, got %d x %d x %d', n, p, columns);
end
options = codiag_options('method', 'quasi-newton', 'start', 'whitener', 'canonical', false);
options.rescale = 0;
tol = 1e-6;
return_B_list = false;
for k = 1:2:numel(varargin)
    value = varargin{k + 1};
    switch lower(varargin{k})
        case 'b0'
            options.start = value;
        case 'weights'
            options.weights = value;
        case {'max_iter', 'maxiter'}
            options.max_iter = value;
        case 'tol'
            tol = value;
        case 'lambda_min'
            options.lambda_min = value;
        case 'max_ls_tries'
            options.max_halvings = value;
        case 'return_b_list'
            return_B_list = value;
        case 'verbose'
            options.verbose = value;
        otherwise
            error('codiag:options', 'Parameter ''%s'' unknown', varargin{k});
    end
end
% Ours is divided by sqrt(p).
options.tol = tol / sqrt(p);
options.keep_iterates = return_B_list;
if options.verbose
    fprintf('Running quasi-Newton for joint diagonalization\niter | obj | gradient\n');
end
answer = codiag_solve(permute(C, [2 3 1]), options);
B = answer.B;
D = zeros(n, p, p);
for i = 1:n
    D(i, :, :) = B * reshape(C(i, :, :), p, p) * B';
end
history = answer.history;
infos = struct();
infos.t_list = history.seconds';
infos.gradient_list = sqrt(p) * history.gradient_norm(1:end - 1)';
infos.loss_list = history.loss(2:end)' + answer.constant / 2;
infos.converged = answer.converged;
infos.status = answer.status;
if return_B_list
    infos.B_list = answer.iterates;
end
end
