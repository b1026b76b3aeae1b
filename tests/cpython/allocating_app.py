"""Allocates blocks of sizes that no other block has, wherever Python code can run, and says which
stack Python itself sees at each: {size: [[qualified name, file, line], ...]}, innermost first.

  allocating_app.py FILE SEED COUNT
"""

import asyncio
import contextlib
import functools
import json
import os
import random
import re
import signal
import sys
import threading
import traceback
import types

keep = []
expected = {}
next_size = [100_001]
lock = threading.Lock()


def stack_of_caller(size):
    frame = sys._getframe(1)
    walked = list(traceback.walk_stack(frame))
    summary = traceback.StackSummary.extract(iter(walked), lookup_lines=False)
    expected[size] = [
        [walk[0].f_code.co_qualname, seen.filename, seen.lineno]
        for walk, seen in zip(walked, summary)
    ]
    return size


def fresh_size():
    with lock:
        next_size[0] += 24
        return next_size[0]


def plain(go):
    size = fresh_size()
    keep.append(bytearray(stack_of_caller(size)))
    go()


def several_lines(go):
    size = fresh_size()
    keep.append(
        bytearray(stack_of_caller(size))
    )
    go(
    )


class Box:
    def __init__(self, go):
        size = fresh_size()
        self.block = bytearray(stack_of_caller(size))
        keep.append(self)
        go()

    def method(self, go):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        go()

    @property
    def attribute(self):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        return 1

    @classmethod
    def of_class(cls, go):
        go()

    @staticmethod
    def of_none(go):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        go()

    def __getattr__(self, name):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        return 2

    def __eq__(self, other):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        return True


class Plain:
    """Its constructor is called without a native function in between, from 3.12 on."""

    def __init__(self, go):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        self.cell = [go for _ in range(2)]
        go()


def construct(go):
    for _ in range(3):
        Plain(lambda: None)
    Plain(go)


def generate(go):
    keep.append(bytearray(stack_of_caller(fresh_size())))
    yield 1
    go()
    keep.append(bytearray(stack_of_caller(fresh_size())))
    yield from inner_generator()


def inner_generator():
    keep.append(bytearray(stack_of_caller(fresh_size())))
    yield 2


def run_generator(go):
    for _ in generate(go):
        pass


def by_native(go):
    sorted([2, 1], key=lambda n: keep.append(bytearray(stack_of_caller(fresh_size()))) or n)
    list(map(lambda _: go(), [0]))


def by_regular_expression(go):
    def replace(match):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        return match[0]

    re.sub("a", replace, "bab")
    go()


def comprehension(go):
    keep.extend([bytearray(stack_of_caller(fresh_size())) for _ in range(2)])
    [go() for _ in range(1)]
    keep.append({n: bytearray(stack_of_caller(fresh_size())) for n in range(1)})
    sum(len(bytearray(stack_of_caller(fresh_size()))) for _ in range(1))


@contextlib.contextmanager
def context():
    keep.append(bytearray(stack_of_caller(fresh_size())))
    yield
    keep.append(bytearray(stack_of_caller(fresh_size())))


def in_context(go):
    with context():
        go()


def in_handler(go):
    try:
        raise KeyError
    except KeyError:
        keep.append(bytearray(stack_of_caller(fresh_size())))
        go()
    finally:
        keep.append(bytearray(stack_of_caller(fresh_size())))


def closure(go):
    cell = fresh_size()

    def inner():
        nonlocal cell
        keep.append(bytearray(stack_of_caller(cell)))
        cell = 0
        go()

    inner()


def by_partial(go):
    functools.partial(plain, go)()


def of_box(go):
    box = Box(lambda: None)
    box.method(go)
    box.attribute, box.missing, box == 3
    Box.of_class(lambda: Box.of_none(go))


def made(go):
    """Code that lives while it runs, at an address where other code was before."""
    n = random.randrange(40)
    text = "\n" * n + (
        "def made_%d(go):\n"
        "  keep.append(bytearray(stack_of_caller(fresh_size())))\n"
        "  go()\n"
        "made_%d(go)\n" % (n, n)
    )
    names = {**globals(), "go": go}
    exec(compile(text, "made_%d.py" % (n % 7), "exec"), names)


def handler_of_signal(number, frame):
    keep.append(bytearray(stack_of_caller(fresh_size())))


def in_signal(go):
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGUSR1)
    go()


async def awaited(go, depth):
    await asyncio.sleep(0)
    keep.append(bytearray(stack_of_caller(fresh_size())))
    if depth > 0:
        await awaited(go, depth - 1)
    else:
        go()


async def several(go):
    await asyncio.gather(awaited(go, 2), awaited(lambda: None, 1))


async def thrown_into(go):
    try:
        await awaitable()
    except KeyError:
        pass
    keep.append(bytearray(stack_of_caller(fresh_size())))
    go()


@types.coroutine
def awaitable():
    try:
        yield
    except KeyError:
        keep.append(bytearray(stack_of_caller(fresh_size())))
        raise


class Awaitable:
    """Is thrown into by way of Python code, while the frames outside of it have no loop."""

    def __await__(self):
        return self

    def __next__(self):
        return None

    __iter__ = __await__

    def throw(self, *what):
        keep.append(bytearray(stack_of_caller(fresh_size())))
        raise KeyError


async def through(inner):
    await inner


def by_throw(go):
    for inner in (thrown_into(go), through(through(Awaitable()))):
        coroutine = through(inner)
        coroutine.send(None)
        try:
            coroutine.throw(KeyError())
        except (StopIteration, KeyError):
            pass


def in_thread(go):
    thread = threading.Thread(target=plain, args=(go,))
    thread.start()
    thread.join()


STEPS = [
    plain, several_lines, Box, construct, run_generator, by_native, by_regular_expression,
    comprehension, in_context, in_handler, closure, by_partial, of_box, made, in_signal, in_thread,
    by_throw,
]


def walk(depth):
    if depth == 0:
        return lambda: None
    step = random.choice(STEPS)
    return lambda: step(walk(depth - 1))


def main():
    path, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    signal.signal(signal.SIGUSR1, handler_of_signal)
    while len(expected) < count:
        walk(random.randrange(1, 6))()
        if random.random() < 0.1:
            asyncio.run(several(walk(2)))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(expected, file)
    os._exit(0)  # so that the blocks are still there in the recording


main()
