function [result, shape] = codiag_solve(C, options)
% Solves a p x p x n array by codiag_mex. Returns its result and shape = [p n].

if exist('codiag_mex', 'file') ~= 3
    error('codiag:build', 'codiag_mex was not found; build it by build_codiag, or by make octave in a shell');
end
if islogical(C) || ~isnumeric(C)
    error('codiag:input', 'C must be an array of numbers, got %s', class(C));
end
sizes = size(C);
got = strjoin(arrayfun(@(n) sprintf('%d', n), sizes, 'UniformOutput', false), ' x ');
if numel(sizes) == 3 && sizes(1) ~= sizes(2) && sizes(2) == sizes(3)
    error('codiag:input', ['expected matrices of size p x p as a p x p x n array, got %s; if C is n x p x p, ' ...
                           'use permute(C, [2 3 1])'], got);
end
if numel(sizes) > 3 || sizes(1) ~= sizes(2) || isempty(C)
    error('codiag:input', 'expected matrices of size p x p as a p x p x n array with n, p > 0, got %s', got);
end
p = sizes(1);
n = size(C, 3);
shape = [p n];

numbers = @(x) double(full(x));
is_complex = ~isreal(C);
data = numbers(C);
if is_complex, data = interleaved(data); end
weights = options.weights;
if ~isempty(weights) && numel(weights) ~= n
    error('codiag:input', 'expected %d weights, one per matrix, but the length of weights is %d', n, numel(weights));
end
init = options.init;
if ~ischar(init)
    if ~isreal(init) && ~is_complex
        error('codiag:init', 'init must be real, as the matrices are, but it is complex');
    end
    init = numbers(init);
    if is_complex, init = interleaved(complex(init)); end
end
% For codiag_mex, 0 is all components, and -1 the rank of the mean.
r = options.n_components;
if isempty(r)
    r = 0;
elseif strcmp(r, 'auto')
    r = -1;
elseif ~(isnumeric(r) && isscalar(r) && r == round(r) && r >= 1 && r <= p)
    error('codiag:options', 'n_components must be [] (all), ''auto'' or a number from 1 to %d', p);
end
n_jobs = options.n_jobs;
if isempty(n_jobs), n_jobs = 0; end
given = struct('criterion', options.criterion, 'method', options.method, 'weights', double(weights(:)), ...
               'orthogonal', double(options.orthogonal), 'n_components', double(r), ...
               'shrinkage', double(options.shrinkage), 'symmetrize', double(options.symmetrize), ...
               'tol', double(options.tol), 'max_iter', double(options.max_iter), ...
               'n_restarts', double(options.n_restarts), 'canonical', double(options.canonical), ...
               'n_jobs', double(n_jobs), 'verbose', double(options.verbose), ...
               'lambda_min', or_default(options, 'lambda_min', 1e-4), ...
               'n_resamples', double(options.n_resamples), 'sort_by', options.sort_by, ...
               'max_halvings', or_default(options, 'max_halvings', 10), ...
               'rescale', or_default(options, 'rescale', 1), ...
               'keep_iterates', or_default(options, 'keep_iterates', 0));
given.init = init;
given.callback = [];
if ~isempty(options.callback)
    % Exceptions do not pass through codiag_mex in Octave, so they are stored in this map, which is
    % a handle.
    caught = containers.Map();
    given.callback = @(record) call_guarded(options.callback, record, caught);
end
result = codiag_mex(data, [n p], double(is_complex), given);
if isfield(result, 'error')
    error(result.identifier, '%s', result.error);
end
if ~isempty(given.callback) && caught.isKey('exception')
    rethrow(caught('exception'));
end
if result.callback_failed
    error('codiag:callback', 'the callback could not be called');
end
if is_complex
    result.B = from_interleaved(result.B);
    result.A = from_interleaved(result.A);
end
if isfield(result, 'iterates')
    r = size(result.B, 1);
    result.iterates = reshape(result.iterates, r, p, []);
end
end

function stop = call_guarded(callback, record, caught)
% Calls the callback. An exception is stored in `caught` and stops the solve.
try
    stop = feval(callback, record);
catch exception
    caught('exception') = exception;
    stop = true;
end
end

function value = or_default(options, name, value)
if isfield(options, name), value = double(options.(name)); end
end

function out = interleaved(x)
% Interleaves real and imaginary parts.
out = [real(x(:)), imag(x(:))].';
end

function out = from_interleaved(x)
% Complex matrix from alternating rows of real and imaginary parts.
out = complex(x(1:2:end, :), x(2:2:end, :));
end
