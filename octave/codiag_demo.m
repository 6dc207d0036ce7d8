% CODIAG_DEMO  Sources of a simulated recording, found by their covariances.
%
% Three sources whose powers change over time, each in its own way, are mixed into three channels. The covariances of
% segments have one joint diagonalizer, which undoes the mixing.

p = 3; n = 60; length_of_segment = 200;
A = [1 0.6 0.2; 0.4 1 0.5; 0.3 0.3 1];                 % the mixing
envelopes = exp(2 * cos((1:n)' * [0.11 0.23 0.37]));   % one power per segment and source
C = zeros(p, p, n);
for i = 1:n
    sources = diag(sqrt(envelopes(i, :))) * randn(p, length_of_segment);
    X = A * sources;
    C(:, :, i) = X * X' / length_of_segment;
end

[B, info] = codiag(C);
fprintf('%s after %d iterations, loss %.4f\n', info.status, info.n_iter, info.loss);
disp('B * A, scaled: one large entry per row');
M = B * A;
disp(round(100 * M ./ repmat(max(abs(M), [], 2), 1, p)) / 100);
fprintf('components %d and %d are hardest to tell apart\n', info.pair);

% The authors' function, for n x p x p arrays.
[D, B2, infos] = qndiag(permute(C, [3 1 2]));
fprintf('qndiag: %d iterations, gradient %.1e\n', numel(infos.gradient_list), infos.gradient_list(end));
