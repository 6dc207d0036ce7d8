% Tests of codiag and qndiag, for Octave and MATLAB: test_codiag runs all of them, and fails at the first that fails.
function test_codiag()
tests = {@exact_sets_are_recovered, @the_loss_is_its_definition, @fields_are_what_they_are_said_to_be, ...
         @other_criteria, @callbacks, @stability, @starts, @wrong_input, @qndiag_is_the_authors, @qndiag_options, @help_texts};
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

function rest = leftover(B, A)
M = abs(B * A);
rest = max(sum(M, 2) ./ max(M, [], 2) - 1);
end

function loss = likelihood(B, C)
loss = 0;
for i = 1:size(C, 3)
    D = B * C(:, :, i) * B';
    loss = loss + (sum(log(real(diag(D)))) - log(real(det(D)))) / 2 / size(C, 3);
end
end

function holds(condition, what)
if ~condition, error('test:failed', 'not so: %s', what); end
end

function complains(run, pattern)
message = '';
try
    run();
catch raised
    message = raised.message;
end
holds(~isempty(regexp(message, pattern, 'once')), sprintf('complains of ''%s'', got ''%s''', pattern, message));
end

function stability()
C = mixed(4, 40, 0.1, false);
[~, info] = codiag(C);
holds(~isfield(info, 'stability'), 'nothing is said of what was not tried');
[~, info] = codiag(C, 'stability', 6);
holds(isequal(size(info.matches), [6 4]), 'one row per trial');
holds(norm(info.stability - median(info.matches)) < 1e-12, 'the median of the matches');
holds(all(info.matches(:) >= 0 & info.matches(:) <= 1), 'from 0 to 1');
complains(@() codiag(C, 'stability', -1), 'stability must be a whole number');
end

function exact_sets_are_recovered()
for is_complex = [false true]
    [C, A] = mixed(4, 25, 0, is_complex);
    [B, info] = codiag(C);
    holds(info.converged, 'converges');
    holds(leftover(B, A) < 1e-7, 'B undoes A');
    holds(norm(B * info.A - eye(4)) < 1e-10, 'B A = I');
    holds(isreal(B) ~= is_complex, 'complex where it should be');
end
end

function the_loss_is_its_definition()
for is_complex = [false true]
    C = mixed(4, 30, 0.3, is_complex);
    for method = {'newton', 'quasi-newton', 'pham', 'row-wise'}
        [B, info] = codiag(C, 'method', method{1});
        holds(abs(info.loss - likelihood(B, C)) < 1e-8, method{1});
        holds(strcmp(info.method, method{1}), 'the method is told');
    end
end
end

function fields_are_what_they_are_said_to_be()
C = mixed(3, 20, 0.2, false);
weights = 1:20;
[B, info] = codiag(C, 'weights', weights, 'threads', 2);
D = B * C(:, :, 5) * B';
holds(norm(info.powers(5, :)' - diag(D)) < 1e-10, 'powers');
holds(abs(weights * info.residuals / sum(weights) - info.loss) < 1e-10, 'residuals');
holds(numel(info.history.loss) == info.n_iter + 1, 'history');
holds(strcmp(info.history.kind{1}, 'start'), 'kinds');
holds(strcmp(info.history.stage{1}, 'full'), 'stages');
holds(all(ismember(info.pair, 1:3)) && info.margin > 0, 'the pair is counted from 1');
holds(abs(info.condition_number / cond(B) - 1) < 1e-8, 'condition number');
single_precision = codiag(single(C), 'symmetrize', true);
holds(norm(abs(single_precision / B) - eye(3)) < 0.1, 'single precision');
holds(isequal(size(codiag(diag([1 2 3]))), [3 3]), 'one matrix');
end

function other_criteria()
[C, A] = mixed(4, 20, 0, false);
C(:, :, 1) = -C(:, :, 1);
for method = {'newton', 'acdc', 'uwedge', 'ffdiag'}
    state = warning('off', 'codiag:notConverged');
    [~, info] = codiag(C, 'criterion', 'least-squares', 'method', method{1});
    warning(state);
    holds(info.loss < 1e-6, method{1});
end
[U, ~] = qr(A);
for i = 1:20, C(:, :, i) = U * diag(diag(C(:, :, i))) * U'; end
for method = {'newton', 'quasi-newton', 'jacobi'}
    B = codiag(C, 'criterion', 'frobenius', 'method', method{1}, 'symmetrize', true);
    holds(leftover(B, U) < 1e-6 && norm(B * B' - eye(4)) < 1e-10, method{1});
end
end

function callbacks()
C = mixed(5, 40, 1, false);
[~, info] = codiag(C, 'method', 'quasi-newton', 'start', 'whitener', 'callback', @(record) record.iteration >= 2);
holds(strcmp(info.status, 'stopped') && info.n_iter == 2, 'the callback stops');
% The callback's own exception comes back, also after another error.
for k = 1:2
    raised = raised_by(@() codiag(C, 'callback', @(record) error('callbacks:test', 'enough at %d', record.iteration)));
    holds(strcmp(raised.message, 'enough at 0'), ['the message of the callback, got ' raised.message]);
    holds(strcmp(raised.identifier, 'callbacks:test'), ['the identifier of the callback, got ' raised.identifier]);
    complains(@() codiag(C, 'start', eye(3)), 'the start must be 5 x 5');
end
raised = raised_by(@() codiag(C, 'callback', 'no_such_function'));
holds(~isempty(strfind(raised.message, 'no_such_function')), ['names what is not there, got ' raised.message]);
% So does one that returns nothing.
raised = raised_by(@() codiag(C, 'callback', @returns_nothing));
holds(~isempty(raised.message), 'a callback without a value');
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

function starts()
for is_complex = [false true]
    C = mixed(4, 30, 0.3, is_complex);
    B = codiag(C);
    [~, info] = codiag(C, 'start', B, 'tol', 1e-7);
    holds(info.n_iter == 0, 'its own answer is the answer');
end
complains(@() codiag(C, 'start', eye(3)), 'the start must be 4 x 4');
complains(@() codiag(C, 'start', ones(4)), 'the start must be finite and invertible');
end

function wrong_input()
C = mixed(3, 5, 0, false);
bad = C; bad(2, 3, 4) = NaN;
complains(@() codiag(bad), 'matrix 4: entry \(2, 3\) is NaN');
bad = C; bad(2, 1, 4) = 100;
complains(@() codiag(bad), 'matrix 4 is not symmetric.*''symmetrize'', true');
bad = C; bad(:, :, 2) = -bad(:, :, 2);
complains(@() codiag(bad), 'matrix 2 is not positive definite.*''frobenius''');
flat = zeros(4, 4, 5);
T = [eye(3); 1 1 1];
for i = 1:5, flat(:, :, i) = T * C(:, :, i) * T'; end
complains(@() codiag(flat, 'symmetrize', true), '''rank'', ''auto'' or ''rank'', 3');
holds(isequal(size(codiag(flat, 'rank', 'auto', 'symmetrize', true)), [3 4]), 'reduced');
complains(@() codiag(permute(C, [3 1 2])), 'permute\(C, \[2 3 1\]\)');
complains(@() codiag(C(:, 1:2, :)), 'got 3 x 2 x 5');
complains(@() codiag('abc'), 'array of numbers');
complains(@() codiag(C, 'weights', 1:4), 'expected 5 weights');
complains(@() codiag(C, 'weights', [1 -1 1 1 1]), 'weight 2 is -1');
complains(@() codiag(C, 'tol', 0), 'tol must be a positive number');
complains(@() codiag(C, 'method', 'jacobi'), '''criterion'', ''likelihood'' does not support ''method'', ''jacobi''');
complains(@() codiag(C, 'steps', 3), 'there is no option ''steps''');
complains(@() codiag(C, 'tol'), 'pairs');
complains(@() codiag(), 'help codiag');
end

function qndiag_is_the_authors()
[C, A] = mixed(4, 30, 0.1, false);
[D, B, infos] = qndiag(permute(C, [3 1 2]));
holds(infos.converged, 'converges');
holds(isequal(size(D), [30 4 4]), 'D is as C');
holds(norm(reshape(D(7, :, :), 4, 4) - B * C(:, :, 7) * B') < 1e-10, 'D = B C B''');
holds(numel(infos.gradient_list) == numel(infos.loss_list), 'lists');
% The last loss, from its definition.
value = -log(abs(det(B)));
for i = 1:30, value = value + sum(log(diag(B * C(:, :, i) * B'))) / 60; end
holds(abs(infos.loss_list(end) - value) < 1e-8, 'the loss is the authors''');
% The gradient there.
G = -eye(4);
for i = 1:30
    Di = reshape(D(i, :, :), 4, 4);
    G = G + diag(1 ./ diag(Di)) * Di / 30;
end
holds(norm(G) < 1e-6, 'the authors'' rule holds');
holds(abs(likelihood(B, C) - likelihood(codiag(C), C)) < 1e-8, 'the same minimum as by Newton');
end

function qndiag_options()
C = permute(mixed(4, 30, 0.5, false), [3 1 2]);
[~, ~, infos] = qndiag(C, 'maxiter', 3, 'tol', 1e-12);
holds(numel(infos.loss_list) == 3 && ~infos.converged, 'maxiter');
[~, B, infos] = qndiag(C, 'B0', eye(4), 'return_B_list', true, 'lambda_min', 1e-3, 'max_ls_tries', 20, ...
                       'weights', ones(30, 1));
holds(isequal(infos.B_list(:, :, 1), eye(4)), 'B0 is the first');
holds(norm(infos.B_list(:, :, end) - B) < 1e-10, 'B is the last');
complains(@() qndiag(reshape(C, 30, 16)), '3 dimensional');
complains(@() qndiag(C, 'steps', 3), 'unknown');
complains(@() qndiag(), 'No signal provided');
end

function help_texts()
for name = {'codiag', 'qndiag', 'build_codiag', 'codiag_demo'}
    holds(numel(help(name{1})) > 100, ['help of ' name{1}]);
end
end
