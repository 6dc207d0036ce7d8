% Tests of codiag and qndiag for Octave and MATLAB. test_codiag runs all tests and stops at the
% first failure.
function test_codiag()
tests = {@exact_sets_are_recovered, @loss_agrees_with_definition, @fields_agree_with_definitions, ...
         @indefinite_matrices_are_accepted, @callbacks, @stability, @init_accepts_matrix, @invalid_input, ...
         @unknown_names_have_suggestions, @qndiag_agrees_with_definition, @qndiag_options, @help_texts};
for k = 1:numel(tests)
    tests{k}();
    fprintf('ok  %s\n', func2str(tests{k}));
end
end

function [C, A] = mixed(p, n, noise, is_complex)
rand('state', 7); randn('state', 7); %#ok<RAND>
draw = @(varargin) randn(varargin{:});
if is_complex, draw = @(varargin) randn(varargin{:}) + 1i * randn(varargin{:}); end
A = draw(p);
C = zeros(p, p, n);
for i = 1:n
    E = noise * draw(p);
    M = A * diag(rand(p, 1) + 0.1) * A' + E * E';
    C(:, :, i) = (M + M') / 2;
end
end

function value = separation_error(B, A)
% Largest ratio, over the rows of B * A, of the other entries to the largest one: 0 for a scaled
% permutation.
M = abs(B * A);
value = max(sum(M, 2) ./ max(M, [], 2) - 1);
end

function loss = likelihood(B, C)
loss = 0;
for i = 1:size(C, 3)
    D = B * C(:, :, i) * B';
    loss = loss + (sum(log(real(diag(D)))) - log(real(det(D)))) / 2 / size(C, 3);
end
end

function check(condition, what)
if ~condition, error('test:failed', 'failed: %s', what); end
end

function check_error(run, pattern)
message = '';
try
    run();
catch raised
    message = raised.message;
end
check(~isempty(regexp(message, pattern, 'once')), sprintf('expected an error like ''%s'', got ''%s''', pattern, message));
end

function stability()
C = mixed(4, 40, 0.1, false);
[~, info] = codiag(C);
check(~isfield(info, 'stability'), 'stability is absent if not estimated');
[~, info] = codiag(C, 'n_resamples', 6);
check(isequal(size(info.matches), [6 4]), 'matches has one row per trial');
check(norm(info.stability - median(info.matches)) < 1e-12, 'stability is the median of matches');
check(all(info.matches(:) >= 0 & info.matches(:) <= 1), 'matches are from 0 to 1');
check_error(@() codiag(C, 'n_resamples', -1), 'n_resamples must be an integer');
[~, info] = codiag(C, 'n_resamples', 6, 'sort_by', 'stability');
check(issorted(fliplr(info.stability)), 'components are sorted by stability');
check_error(@() codiag(C, 'sort_by', 'stability'), '''n_resamples'', 20 or ''n_restarts'', 20');
end

function exact_sets_are_recovered()
for is_complex = [false true]
    [C, A] = mixed(4, 25, 0, is_complex);
    [B, info] = codiag(C);
    check(info.converged, 'converges');
    check(separation_error(B, A) < 1e-7, 'B undoes A');
    check(norm(B * info.A - eye(4)) < 1e-10, 'B A = I');
    check(isreal(B) ~= is_complex, 'B is complex only for complex matrices');
end
end

function loss_agrees_with_definition()
for is_complex = [false true]
    C = mixed(4, 30, 0.3, is_complex);
    for method = {'newton', 'quasi-newton', 'pham', 'row-wise'}
        [B, info] = codiag(C, 'method', method{1});
        check(abs(info.loss - likelihood(B, C)) < 1e-8, method{1});
        check(strcmp(info.method, method{1}), 'info has the method');
    end
end
end

function fields_agree_with_definitions()
C = mixed(3, 20, 0.2, false);
weights = 1:20;
[B, info] = codiag(C, 'weights', weights, 'n_jobs', 2);
D = B * C(:, :, 5) * B';
check(norm(info.powers(5, :)' - diag(D)) < 1e-10, 'powers');
check(abs(weights * info.residuals / sum(weights) - info.loss) < 1e-10, 'residuals');
check(numel(info.history.loss) == info.n_iter + 1, 'history');
check(strcmp(info.history.kind{1}, 'init'), 'kinds');
check(strcmp(info.history.stage{1}, 'full'), 'stages');
check(all(ismember(info.pair, 1:3)) && info.margin > 0, 'indices of the pair start at 1');
check(abs(info.condition_number / cond(B) - 1) < 1e-8, 'condition number');
single_precision = codiag(single(C), 'symmetrize', true);
check(norm(abs(single_precision / B) - eye(3)) < 0.1, 'single precision');
check(isequal(size(codiag(diag([1 2 3]))), [3 3]), 'one matrix');
end

function indefinite_matrices_are_accepted()
[C, A] = mixed(4, 20, 0, false);
C(:, :, 1) = -C(:, :, 1);
for method = {'newton', 'acdc', 'uwedge', 'ffdiag'}
    state = warning('off', 'codiag:notConverged');
    [~, info] = codiag(C, 'criterion', 'least-squares', 'method', method{1});
    warning(state);
    check(info.loss < 1e-6, method{1});
end
[U, ~] = qr(A);
for i = 1:20, C(:, :, i) = U * diag(diag(C(:, :, i))) * U'; end
for method = {'newton', 'quasi-newton', 'jacobi'}
    B = codiag(C, 'criterion', 'frobenius', 'method', method{1}, 'symmetrize', true);
    check(separation_error(B, U) < 1e-6 && norm(B * B' - eye(4)) < 1e-10, method{1});
end
end

function callbacks()
C = mixed(5, 40, 1, false);
[~, info] = codiag(C, 'method', 'quasi-newton', 'init', 'whitener', 'callback', @(record) record.iteration >= 2);
check(strcmp(info.status, 'interrupted') && info.n_iter == 2, 'the callback stops');
% The exception of the callback is rethrown, also after another error.
for k = 1:2
    raised = raised_by(@() codiag(C, 'callback', @(record) error('callbacks:test', 'enough at %d', record.iteration)));
    check(strcmp(raised.message, 'enough at 0'), ['the message of the callback, got ' raised.message]);
    check(strcmp(raised.identifier, 'callbacks:test'), ['the identifier of the callback, got ' raised.identifier]);
    check_error(@() codiag(C, 'init', eye(3)), 'init must be 5 x 5');
end
raised = raised_by(@() codiag(C, 'callback', 'no_such_function'));
check(~isempty(strfind(raised.message, 'no_such_function')), ['the error names the missing function, got ' raised.message]);
% A callback without a return value is an error.
raised = raised_by(@() codiag(C, 'callback', @returns_nothing));
check(~isempty(raised.message), 'a callback without a value');
end

function returns_nothing(~)
end

function raised = raised_by(run)
raised = struct('message', '', 'identifier', '');
try
    run();
catch exception
    raised = exception;
end
end

function init_accepts_matrix()
for is_complex = [false true]
    C = mixed(4, 30, 0.3, is_complex);
    B = codiag(C);
    [~, info] = codiag(C, 'init', B, 'tol', 1e-7);
    check(info.n_iter == 0, 'a result needs no further iteration');
end
check_error(@() codiag(C, 'init', eye(3)), 'init must be 4 x 4');
check_error(@() codiag(C, 'init', ones(4)), 'must be finite and invertible');
end

function invalid_input()
C = mixed(3, 5, 0, false);
bad = C; bad(2, 3, 4) = NaN;
check_error(@() codiag(bad), 'matrix 4: entry \(2, 3\) is NaN');
bad = C; bad(2, 1, 4) = 100;
check_error(@() codiag(bad), 'matrix 4 is not symmetric.*''symmetrize'', true');
bad = C; bad(:, :, 2) = -bad(:, :, 2);
check_error(@() codiag(bad), 'matrix 2 is not positive definite.*''frobenius''');
flat = zeros(4, 4, 5);
T = [eye(3); 1 1 1];
for i = 1:5, flat(:, :, i) = T * C(:, :, i) * T'; end
check_error(@() codiag(flat, 'symmetrize', true), '''n_components'', ''auto'' or ''n_components'', 3');
check(isequal(size(codiag(flat, 'n_components', 'auto', 'symmetrize', true)), [3 4]), 'reduced');
check_error(@() codiag(permute(C, [3 1 2])), 'permute\(C, \[2 3 1\]\)');
check_error(@() codiag(C(:, 1:2, :)), 'got 3 x 2 x 5');
check_error(@() codiag('abc'), 'array of numbers');
check_error(@() codiag(C, 'weights', 1:4), 'expected 5 weights');
check_error(@() codiag(C, 'weights', [1 -1 1 1 1]), 'weight 2 is -1');
check_error(@() codiag(C, 'tol', 0), 'tol must be a positive number');
check_error(@() codiag(C, 'method', 'jacobi'), '''criterion'', ''likelihood'' does not support ''method'', ''jacobi''');
check_error(@() codiag(C, 'steps', 3), 'unknown option ''steps''');
check_error(@() codiag(C, 'tol'), 'pairs');
check_error(@() codiag(), 'help codiag');
end

function unknown_names_have_suggestions()
C = mixed(3, 5, 0, false);
check_error(@() codiag(C, 'max_iters', 5), 'unknown option ''max_iters''; did you mean ''max_iter''\?');
check_error(@() codiag(C, 'method', 'newtn'), 'unknown method ''newtn''; did you mean ''newton''\?');
check_error(@() codiag(C, 'criterion', 'abcdefgh'), 'unknown criterion ''abcdefgh''; valid: likelihood');
check_error(@() qndiag(permute(C, [3 1 2]), 'lambda', 1), 'Parameter ''lambda'' unknown; did you mean ''lambda_min''\?');
check_error(@() qndiag(permute(C, [3 1 2]), 'lambda_mn', 1), 'unknown; did you mean ''lambda_min''\?');
end

function qndiag_agrees_with_definition()
[C, A] = mixed(4, 30, 0.1, false);
[D, B, infos] = qndiag(permute(C, [3 1 2]));
check(infos.converged, 'converges');
check(isequal(size(D), [30 4 4]), 'D has the size of C');
check(norm(reshape(D(7, :, :), 4, 4) - B * C(:, :, 7) * B') < 1e-10, 'D = B C B''');
check(numel(infos.gradient_list) == numel(infos.loss_list), 'lists');
% The last loss, by its definition.
value = -log(abs(det(B)));
for i = 1:30, value = value + sum(log(diag(B * C(:, :, i) * B'))) / 60; end
check(abs(infos.loss_list(end) - value) < 1e-8, 'the loss agrees with the definition of qndiag');
% The gradient at the last iterate.
G = -eye(4);
for i = 1:30
    Di = reshape(D(i, :, :), 4, 4);
    G = G + diag(1 ./ diag(Di)) * Di / 30;
end
check(norm(G) < 1e-6, 'the stopping rule of qndiag holds');
check(abs(likelihood(B, C) - likelihood(codiag(C), C)) < 1e-8, 'qndiag and Newton find the same minimum');
end

function qndiag_options()
C = permute(mixed(4, 30, 0.5, false), [3 1 2]);
[~, ~, infos] = qndiag(C, 'maxiter', 3, 'tol', 1e-12);
check(numel(infos.loss_list) == 3 && ~infos.converged, 'maxiter');
[~, B, infos] = qndiag(C, 'B0', eye(4), 'return_B_list', true, 'lambda_min', 1e-3, 'max_ls_tries', 20, ...
                       'weights', ones(30, 1));
check(isequal(infos.B_list(:, :, 1), eye(4)), 'the first iterate is B0');
check(norm(infos.B_list(:, :, end) - B) < 1e-10, 'the last iterate is B');
check_error(@() qndiag(reshape(C, 30, 16)), '3 dimensional');
check_error(@() qndiag(C, 'steps', 3), 'Parameter ''steps'' unknown; valid: B0');
check_error(@() qndiag(), 'No signal provided');
end

function help_texts()
for name = {'codiag', 'qndiag', 'build_codiag', 'codiag_demo'}
    check(numel(help(name{1})) > 100, ['help of ' name{1}]);
end
end
