function build_codiag(prefix)
% BUILD_CODIAG  Builds the MEX function that codiag and qndiag call.
%
%   build_codiag           uses the C library in target/capi, built by 'make capi'
%   build_codiag(prefix)   uses the C library under the given prefix
%
% The shell command 'make octave' builds both the C library and the MEX function.

here = fileparts(mfilename('fullpath'));
if nargin < 1
    prefix = fullfile(fileparts(here), 'target', 'capi');
end
if ~exist(fullfile(prefix, 'include', 'codiag.h'), 'file')
    error('codiag:build', 'the C library of codiag was not found in %s; build it by ''make capi''', prefix);
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
