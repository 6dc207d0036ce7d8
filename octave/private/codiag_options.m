function options = codiag_options(varargin)
% The options of codiag with their defaults, checked.

options = struct('criterion', 'likelihood', 'method', 'newton', 'start', 'spectral', 'weights', [], ...
                 'orthogonal', false, 'rank', 'full', 'shrinkage', 0, 'symmetrize', false, 'tol', 1e-8, ...
                 'max_iter', 1000, 'restarts', 0, 'canonical', true, 'threads', [], 'callback', [], ...
                 'verbose', false, 'stability', 0);
if mod(numel(varargin), 2) == 1
    error('codiag:options', 'options come as pairs of a name and a value');
end
for k = 1:2:numel(varargin)
    name = varargin{k};
    if ~ischar(name) || ~isfield(options, lower(name))
        if ~ischar(name), name = class(name); end
        error('codiag:options', 'there is no option ''%s'', only %s', name, strjoin(fieldnames(options)', ', '));
    end
    options.(lower(name)) = varargin{k + 1};
end
one_of('criterion', options.criterion, {'likelihood', 'frobenius', 'least-squares'});
one_of('method', options.method, ...
       {'newton', 'quasi-newton', 'pham', 'row-wise', 'jacobi', 'acdc', 'uwedge', 'ffdiag'});
if ischar(options.start)
    one_of('start', options.start, {'spectral', 'whitener', 'identity'});
end
positive('tol', options.tol);
counted('max_iter', options.max_iter, 0);
counted('restarts', options.restarts, 0);
counted('stability', options.stability, 0);
if ~isempty(options.threads), counted('threads', options.threads, 1); end
if ~(isnumeric(options.shrinkage) && isscalar(options.shrinkage) && options.shrinkage >= 0 && options.shrinkage <= 1)
    error('codiag:options', 'shrinkage must be between 0 and 1');
end
end

function one_of(name, value, choices)
if ~ischar(value) || ~any(strcmp(value, choices))
    if ~ischar(value), value = class(value); end
    error('codiag:options', '%s must be one of %s, got ''%s''', name, strjoin(choices, ', '), value);
end
end

function positive(name, value)
if ~(isnumeric(value) && isscalar(value) && isfinite(value) && value > 0)
    error('codiag:options', '%s must be a positive number', name);
end
end

function counted(name, value, least)
if ~(isnumeric(value) && isscalar(value) && isfinite(value) && value == round(value) && value >= least)
    error('codiag:options', '%s must be a whole number of at least %d', name, least);
end
end
