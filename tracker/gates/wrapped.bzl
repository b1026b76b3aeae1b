"""The functions of benchmark::State that tell where the timed loop is; see timed_loop.cc."""

WRAPPED = [
    "_ZN9benchmark5State16StartKeepRunningEv",
    "_ZN9benchmark5State17FinishKeepRunningEv",
    "_ZN9benchmark5State11PauseTimingEv",
    "_ZN9benchmark5State12ResumeTimingEv",
]
