% CODIAG_DEMO  Separates the sources of a simulated recording by joint diagonalization of
%              covariances.
%
% Three sources with different power changes over time are mixed into three channels. The
% covariances of segments have a common joint diagonalizer, which is the inverse of the mixing
% matrix up to order and scale.

p = 3; n = 60; segment_length = 200;
A = [1 0.6 0.2; 0.4 1 0.5; 0.3 0.3 1];                 % mixing matrix
envelopes = exp(2 * cos((1:n)' * [0.11 0.23 0.37]));   % power of each source in each segment
C = zeros(p, p, n);
for i = 1:n
    sources = diag(sqrt(envelopes(i, :))) * randn(p, segment_length);
    X = A * sources;
    C(:, :, i) = X * X' / segment_length;
end

[B, info] = codiag(C);
fprintf('%s after %d iterations, loss %.4f\n', info.status, info.n_iter, info.loss);
disp('B * A, scaled: one large entry per row');
M = B * A;
disp(round(100 * M ./ repmat(max(abs(M), [], 2), 1, p)) / 100);
fprintf('least separable components: %d and %d\n', info.pair);

% The function of the authors of the quasi-Newton method takes n x p x p arrays.
[D, B2, infos] = qndiag(permute(C, [3 1 2]));
fprintf('qndiag: %d iterations, gradient %.1e\n', numel(infos.gradient_list), infos.gradient_list(end));
