function build_codiag(prefix)
% BUILD_CODIAG  Build the mex function that codiag and qndiag call.
%
%   build_codiag           against the C library in target/capi, where 'make capi' puts it
%   build_codiag(prefix)   against one elsewhere
%
% In a shell: make octave

here = fileparts(mfilename('fullpath'));
if nargin < 1
    prefix = fullfile(fileparts(here), 'target', 'capi');
end
if ~exist(fullfile(prefix, 'include', 'codiag.h'), 'file')
    error('codiag:build', 'there is no C library of codiag in %s: run ''make capi'' first', prefix);
end
source = fullfile(here, 'codiag_mex.c');
include = ['-I' fullfile(prefix, 'include')];
library = fullfile(prefix, 'lib');
if exist('OCTAVE_VERSION', 'builtin')
    mkoctfile('--mex', include, ['-L' library], '-lcodiag', ['-Wl,-rpath,' library], ...
              '-o', fullfile(here, 'codiag_mex'), source);
else
    mex(include, ['-L' library], '-lcodiag', ['LDFLAGS=$LDFLAGS -Wl,-rpath,' library], ...
        '-outdir', here, source);
end
rehash();
end
