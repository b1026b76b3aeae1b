"""The task of words.awk, in threads, a child of fork and a child of exec."""

import multiprocessing
import subprocess
import sys
import threading


def words():
    lists = {}
    for i in range(200000):
        lists.setdefault(f"key{i * 7919 % 10007}", []).append(f"{i},")
    value = 0
    for key in sorted(lists):
        text = (key.upper() + ":" + "".join(lists[key])).replace("7", "seven")
        value = (value * 31 + len(text)) % 1000000007
    return f"{len(lists)} {value}"


if __name__ == "__main__":
    found = []
    threads = [threading.Thread(target=lambda: found.append(words())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = multiprocessing.get_context("fork").Process(target=lambda: print(words(), flush=True))
    child.start()
    child.join()
    print("\n".join(found), child.exitcode, flush=True)
    print(subprocess.run([sys.executable, "-c", "print(9 ** 9)"], check=True).returncode)
