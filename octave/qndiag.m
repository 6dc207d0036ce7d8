function [D, B, infos] = qndiag(C, varargin)
% QNDIAG  Joint diagonalization by the quasi-Newton method, with the arguments of its authors'
%         function.
%
%   [D, B, infos] = qndiag(C) computes the matrix B for which all B * squeeze(C(i,:,:)) * B' are as
%   diagonal as possible, by Algorithm 1 of P. Ablin, J.-F. Cardoso and A. Gramfort, Beyond Pham's
%   algorithm for joint diagonalization, Proc.
%   ESANN 2019. C is an n x p x p array of positive definite matrices, D the array of the
%   transformed matrices.
%
%   qndiag(C, 'name', value, ...) sets options:
%
%   'B0'             starting point (default: the whitener of the mean matrix)
%   'weights'        weights of the n matrices (default: equal)
%   'max_iter'       maximum number of iterations (default: 1000); 'maxiter' is accepted too
%   'tol'            convergence tolerance of the Frobenius norm of the gradient (default: 1e-6)
%   'lambda_min'     lower bound of the determinants of the blocks of the Hessian (default: 1e-4)
%   'max_ls_tries'   maximum number of step halvings in a line search (default: 10)
%   'return_B_list'  whether infos.B_list contains all iterates, p x p x (iterations + 1) (default:
%                    false)
%   'verbose'        whether each iteration is printed (default: false)
%
%   infos is a struct with the fields
%
%   t_list           time at each iterate, in seconds
%   gradient_list    gradient norm before each step
%   loss_list        loss -log|det B| + mean(sum(log(diag(D)))) / 2 after each step
%   converged        whether the gradient norm reached the tolerance
%   status           reason why the solve ended, as in CODIAG
%   B_list           all iterates (only if 'return_B_list' is true)
%
%   The rows of B are neither sorted nor normalized. No warning is given if the solve does not
%   converge.
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
options = codiag_options('method', 'quasi-newton', 'init', 'whitener', 'canonical', false);
options.rescale = 0;
tol = 1e-6;
return_B_list = false;
for k = 1:2:numel(varargin)
    value = varargin{k + 1};
    switch lower(varargin{k})
        case 'b0'
            options.init = value;
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
            valid = {'B0', 'weights', 'max_iter', 'maxiter', 'tol', 'lambda_min', 'max_ls_tries', 'return_B_list', 'verbose'};
            error('codiag:options', 'Parameter ''%s'' unknown; %s', varargin{k}, codiag_suggestion(varargin{k}, valid));
    end
end
% The gradient norm of codiag is that of qndiag divided by sqrt(p).
options.tol = tol / sqrt(p);
options.keep_iterates = return_B_list;
if options.verbose
    fprintf('Running quasi-Newton for joint diagonalization\niter | obj | gradient\n');
end
result = codiag_solve(permute(C, [2 3 1]), options);
B = result.B;
D = zeros(n, p, p);
for i = 1:n
    D(i, :, :) = B * reshape(C(i, :, :), p, p) * B';
end
history = result.history;
infos = struct();
infos.t_list = history.seconds';
infos.gradient_list = sqrt(p) * history.gradient_norm(1:end - 1)';
infos.loss_list = history.loss(2:end)' + result.constant / 2;
infos.converged = result.converged;
infos.status = result.status;
if return_B_list
    infos.B_list = result.iterates;
end
end
