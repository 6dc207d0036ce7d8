function text = codiag_suggestion(name, valid)
% Returns 'did you mean ''...''? Valid: ...', or 'valid: ...' if no valid name is similar.

name = lower(name);
distances = cellfun(@(other) edit_distance(name, lower(other)), valid);
% One name may be the beginning of the other.
distances(cellfun(@(other) strncmpi(name, other, min(numel(name), numel(other))), valid)) = 1;
[least, k] = min(distances);
text = ['valid: ' strjoin(valid, ', ')];
if least <= max(2, floor(numel(name) / 3))
    text = sprintf('did you mean ''%s''? V%s', valid{k}, text(2:end));
end
end

function distance = edit_distance(a, b)
% Levenshtein distance of two strings.
previous = 0:numel(b);
for i = 1:numel(a)
    current = [i, zeros(1, numel(b))];
    for j = 1:numel(b)
        current(j + 1) = min([previous(j + 1) + 1, current(j) + 1, previous(j) + (a(i) ~= b(j))]);
    end
    previous = current;
end
distance = previous(end);
end
