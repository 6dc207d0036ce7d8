"""Cut the recording that the Python package carries from a larger one.

    python tools/make_recording.py sample_raw.fif

The input is ``mne/io/tests/data/test_raw.fif`` of MNE-Python (BSD-3-Clause): 24 s of 306 MEG and
60 EEG channels. The output has its magnetometers, EEG, EOG and events at a third of the rate, and
no information about the subject.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mne

TARGET = Path(__file__).resolve().parent.parent / "python/codiag/data/sample_raw.fif"
DECIMATION = 3


def main(source: str) -> None:
    """Write the excerpt."""
    raw = mne.io.read_raw_fif(source, preload=True)
    events = mne.find_events(raw, stim_channel="STI 014")
    raw.pick_types(meg="mag", eeg=True, eog=True, include=["STI 014"])
    raw.del_proj()
    raw, _ = raw.resample(raw.info["sfreq"] / DECIMATION, events=events)
    raw.anonymize()
    # Measurements of the position of the head, three times the size of the recording.
    with raw.info._unlock():
        raw.info.update(hpi_meas=[], hpi_results=[], acq_pars=None)
    raw.info["description"] = "24 s of MNE-Python's sample recording, resampled"
    TARGET.parent.mkdir(exist_ok=True)
    raw.save(TARGET, fmt="single", overwrite=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
