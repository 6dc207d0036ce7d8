function report = codiag_words(e, options)
% What is wrong, in the words of MATLAB: matrices are counted from 1. A struct for error().

% The numbers of codiag_error and codiag_remedy in codiag.h.
NOT_FINITE = 3; ASYMMETRIC = 4; NOT_POSITIVE_DEFINITE = 5; WEIGHTS = 6; START = 7; CONFLICT = 9;
REDUCE = 1; SHRINK = 2;

message = e.message;
identifier = 'codiag:input';
if e.error == NOT_FINITE && e.matrix > 0
    message = sprintf('matrix %d: entry (%d, %d) is %g, not a finite number', e.matrix, e.row, e.column, e.value);
elseif e.error == ASYMMETRIC
    message = sprintf(['matrix %d is not symmetric (if complex, Hermitian): entry (%d, %d) and its mirror image differ ' ...
                       'by %.3g of the largest entry (at most 1e-8 is taken as rounding); ''symmetrize'', true takes ' ...
                       'the mean of the two'], e.matrix, e.row, e.column, e.value);
elseif e.error == NOT_POSITIVE_DEFINITE
    which = 'the mean of the matrices';
    if e.matrix > 0, which = sprintf('matrix %d', e.matrix); end
    if e.remedy == REDUCE
        advice = sprintf(['all matrices share a null space (the mean has rank %d): reduce the set to its range with ' ...
                          '''rank'', ''auto'' or ''rank'', %d'], e.rank, e.rank);
    elseif e.remedy == SHRINK
        advice = sprintf('its companions do not share its null space: lift it with ''shrinkage'', %g', e.shrinkage);
    else
        advice = ['only the criteria ''frobenius'' and ''least-squares'' can take a set that is not positive ' ...
                  'definite'];
    end
    message = sprintf('%s is not positive definite: its smallest eigenvalue is %.3g; %s', which, e.value, advice);
elseif e.error == WEIGHTS && e.matrix > 0
    message = sprintf('weight %d is %g: weights must be finite and not negative', e.matrix, e.value);
elseif e.error == START
    identifier = 'codiag:start';
    message = regexprep(message, '^b must', 'the start must');
elseif e.error == CONFLICT && strcmp(options.criterion, 'least-squares')
    message = ['criterion ''least-squares'' is for real matrices and sets that are not reduced by ''rank'''];
elseif e.error == CONFLICT
    message = 'orthogonal is not for a set reduced by ''rank'', whose axes are not those of the channels';
end
report = struct('message', message, 'identifier', identifier);
end
