function text = codiag_suggestion(name, valid)
% Returns 'did you mean ''...''? ' for the most similar valid name, or '' if none is similar.

distances = cellfun(@(other) edit_distance(lower(name), lower(other)), valid);
[least, k] = min(distances);
text = '';
if least <= max(2, floor(numel(name) / 3))
    text = sprintf('did you mean ''%s''? ', valid{k});
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
