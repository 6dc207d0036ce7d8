function [answer, shape] = codiag_solve(C, options)
% The answer of codiag_mex for a p x p x n array, and [p n].

if exist('codiag_mex', 'file') ~= 3
    error('codiag:build', 'codiag_mex is not built: run build_codiag, or make octave in a shell');
end
if islogical(C) || ~isnumeric(C)
    error('codiag:input', 'C must be an array of numbers, got %s', class(C));
end
sizes = size(C);
got = strjoin(arrayfun(@(n) sprintf('%d', n), sizes, 'UniformOutput', false), ' x ');
if numel(sizes) == 3 && sizes(1) ~= sizes(2) && sizes(2) == sizes(3)
    error('codiag:input', ['expected matrices of size p x p as a p x p x n array, got %s: if they are n x p x p, ' ...
                           'take permute(C, [2 3 1])'], got);
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
if is_complex, data = pairs(data); end
weights = options.weights;
if ~isempty(weights) && numel(weights) ~= n
    error('codiag:input', 'expected %d weights, one per matrix, got %d', n, numel(weights));
end
start = options.start;
if ~ischar(start)
    if ~isreal(start) && ~is_complex
        error('codiag:start', 'the start must be real, as the matrices are, but it is complex');
    end
    start = numbers(start);
    if is_complex, start = pairs(complex(start)); end
end
rank = options.rank;
if strcmp(rank, 'full')
    rank = 0;
elseif strcmp(rank, 'auto')
    rank = -1;
elseif ~(isnumeric(rank) && isscalar(rank) && rank == round(rank) && rank >= 1 && rank <= p)
    error('codiag:options', 'rank must be ''full'', ''auto'' or a number from 1 to %d', p);
end
threads = options.threads;
if isempty(threads), threads = 0; end
given = struct('criterion', options.criterion, 'method', options.method, 'weights', double(weights(:)), ...
               'orthogonal', double(options.orthogonal), 'rank', double(rank), ...
               'shrinkage', double(options.shrinkage), 'symmetrize', double(options.symmetrize), ...
               'tol', double(options.tol), 'max_iter', double(options.max_iter), ...
               'restarts', double(options.restarts), 'canonical', double(options.canonical), ...
               'threads', double(threads), 'verbose', double(options.verbose), ...
               'lambda_min', or_default(options, 'lambda_min', 1e-4), ...
               'stability', or_default(options, 'stability', 0), ...
               'max_halvings', or_default(options, 'max_halvings', 10), ...
               'rescale', or_default(options, 'rescale', 1), ...
               'keep_iterates', or_default(options, 'keep_iterates', 0));
given.start = start;
given.callback = [];
if ~isempty(options.callback)
    % A handle, because exceptions do not pass through codiag_mex in Octave.
    caught = containers.Map();
    given.callback = @(record) guarded(options.callback, record, caught);
end
answer = codiag_mex(data, [n p], double(is_complex), given);
if isfield(answer, 'error')
    error(answer.identifier, '%s', answer.error);
end
if ~isempty(given.callback) && caught.isKey('exception')
    rethrow(caught('exception'));
end
if answer.callback_failed
    error('codiag:callback', 'the callback could not be called');
end
if is_complex
    answer.B = whole(answer.B);
    answer.A = whole(answer.A);
end
if isfield(answer, 'iterates')
    r = size(answer.B, 1);
    answer.iterates = reshape(answer.iterates, r, p, []);
end
end

function stop = guarded(callback, record, caught)
% Calls the callback. An exception is kept, and stops the solve.
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

function out = pairs(x)
% Real and imaginary parts in turns.
out = [real(x(:)), imag(x(:))].';
end

function out = whole(x)
% Complex numbers from rows of real and imaginary parts in turns.
out = complex(x(1:2:end, :), x(2:2:end, :));
end
