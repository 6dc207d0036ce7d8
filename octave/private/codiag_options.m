function options = codiag_options(varargin)
% Returns the options of codiag: the defaults, replaced by validated pairs of names and values.

options = struct('criterion', 'likelihood', 'method', 'newton', 'init', 'spectral', 'weights', [], ...
                 'orthogonal', false, 'n_components', [], 'shrinkage', 0, 'symmetrize', false, 'tol', 1e-8, ...
                 'max_iter', 1000, 'n_restarts', 0, 'canonical', true, 'n_jobs', [], 'callback', [], ...
                 'verbose', false, 'n_resamples', 0, 'sort_by', 'contrast');
if mod(numel(varargin), 2) == 1
    error('codiag:options', 'options must be pairs of a name and a value');
end
names = fieldnames(options)';
for k = 1:2:numel(varargin)
    name = varargin{k};
    if ~ischar(name)
        error('codiag:options', 'the name of an option must be a string, got %s', class(name));
    end
    if ~isfield(options, lower(name))
        error('codiag:options', 'unknown option ''%s''; %s', name, codiag_suggestion(name, names));
    end
    options.(lower(name)) = varargin{k + 1};
end
check_choice('criterion', options.criterion, {'likelihood', 'frobenius', 'least-squares'});
check_choice('method', options.method, ...
             {'newton', 'quasi-newton', 'pham', 'row-wise', 'jacobi', 'acdc', 'uwedge', 'ffdiag'});
check_choice('sort_by', options.sort_by, {'contrast', 'stability'});
if ischar(options.init)
    check_choice('init', options.init, {'spectral', 'whitener', 'identity'});
end
check_positive('tol', options.tol);
check_count('max_iter', options.max_iter, 0);
check_count('n_restarts', options.n_restarts, 0);
check_count('n_resamples', options.n_resamples, 0);
if ~isempty(options.n_jobs), check_count('n_jobs', options.n_jobs, 1); end
if ~(isnumeric(options.shrinkage) && isscalar(options.shrinkage) && options.shrinkage >= 0 && options.shrinkage <= 1)
    error('codiag:options', 'shrinkage must be between 0 and 1');
end
end

function check_choice(name, value, choices)
if ~ischar(value)
    error('codiag:options', '%s must be one of %s, got %s', name, strjoin(choices, ', '), class(value));
end
if ~any(strcmp(value, choices))
    error('codiag:options', 'unknown %s ''%s''; %s', name, value, codiag_suggestion(value, choices));
end
end

function check_positive(name, value)
if ~(isnumeric(value) && isscalar(value) && isfinite(value) && value > 0)
    error('codiag:options', '%s must be a positive number', name);
end
end

function check_count(name, value, least)
if ~(isnumeric(value) && isscalar(value) && isfinite(value) && value == round(value) && value >= least)
    error('codiag:options', '%s must be an integer of at least %d', name, least);
end
end
