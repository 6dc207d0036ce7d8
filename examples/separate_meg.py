"""The eye and the heart in a MEG recording: python examples/separate_meg.py RECORDING [PICTURE].

Any recording that MNE reads will do. Needs MNE, and matplotlib for the picture of the patterns.
"""

import sys

import mne

import codiag

mne.set_log_level("WARNING")
raw = mne.io.read_raw(sys.argv[1], preload=True)
if "MEG 2443" in raw.ch_names:  # bad in the sample recording of MNE
    raw.info["bads"] = ["MEG 2443"]
raw.filter(1.0, None)

model = codiag.SourceSeparation(n_components=40, segments=100).fit(raw, picks="mag")
print(
    f"{raw.times[-1]:.0f} s, {len(model.info_['ch_names'])} magnetometers, "
    f"{len(model.filters_)} components with {model.kept_variance_:.1%} of the variance: "
    f"{model.result_.status} after {model.n_iter_} iterations"
)
found = model.find_artefacts(raw)
for source, kinds in found.items():
    share = model.variance_share_[source]
    print(f"S{source:02} {kinds[0].kind}, {share:.1%} of the variance: {kinds[0].reason}")

cleaned = model.apply(raw, exclude=found)
before, after = raw.get_data("mag"), cleaned.get_data("mag")
print(f"without them {1 - after.var() / before.var():.0%} of the variance is gone")
if len(sys.argv) > 2:
    model.plot_patterns(list(found), show=False).savefig(sys.argv[2])
