"""Programs of the kind that pyperformance has, for python_compare.py: of a second or two each."""

# Documents there and back.
JSON = """
import json
rows = [{"id": i, "name": f"user {i}", "tags": ["a", "b", str(i)], "score": i / 7}
        for i in range(2000)]
for _ in range(400):
    rows = json.loads(json.dumps(rows))
"""

# A page of a table: loops, escapes, joins, as a template engine does them.
TEMPLATE = """
import html
ROW = "<tr><td>{}</td><td>{}</td><td class='{}'>{}</td></tr>"
def cell(value):
    return html.escape(str(value))
def page(rows):
    lines = []
    for number, row in enumerate(rows):
        kind = "odd" if number % 2 else "even"
        lines.append(ROW.format(cell(row["name"]), cell(row["price"]), kind, cell(row["text"])))
    return "<table>" + "\\n".join(lines) + "</table>"
rows = [{"name": f"item <{i}>", "price": i * 1.5, "text": "a & b " * (i % 5)} for i in range(1000)]
total = 0
for _ in range(1500):
    total += len(page(rows))
"""

# Objects, dictionaries, sets, sorting, a heap: what a program of business logic is made of.
STRUCTURES = """
import collections, heapq, random
random.seed(1)
class Order:
    def __init__(self, number, customer, items):
        self.number, self.customer, self.items = number, customer, items
    def total(self):
        return sum(price * count for price, count in self.items)
for _ in range(45):
    orders = [
        Order(i, f"customer {random.randrange(500)}",
              [(random.random(), random.randrange(9)) for _ in range(random.randrange(1, 6))])
        for i in range(8000)
    ]
    by_customer = collections.defaultdict(list)
    for order in orders:
        by_customer[order.customer].append(order)
    totals = {name: sum(map(Order.total, mine)) for name, mine in by_customer.items()}
    best = heapq.nlargest(50, totals.items(), key=lambda item: item[1])
    seen = {(order.customer, len(order.items)) for order in orders}
    orders.sort(key=lambda order: (-order.total(), order.number))
"""

# Arrays of some size with short lives.
NUMPY = """
import numpy as np
rng = np.random.default_rng(1)
total = 0.0
for _ in range(120):
    a = rng.random((300, 300))
    b = (a * 2 + 1) / (a.T + 1)
    total += float(np.sqrt(b).sum()) + float((a @ b).trace())
    rows = [row.copy() for row in a]
    parts = np.concatenate([row[:50] for row in rows])
    total += float(np.sort(parts).sum())
    small = [np.array([i, i + 1, i + 2]) * 0.5 for i in range(5000)]
    total += sum(float(each[0]) for each in small)
"""

# Tasks, queues and timers.
ASYNCIO = """
import asyncio
async def worker(inbox, outbox):
    while True:
        item = await inbox.get()
        await asyncio.sleep(0)
        await outbox.put({"item": item, "text": str(item) * 3})
        inbox.task_done()
async def main():
    inbox, outbox = asyncio.Queue(), asyncio.Queue()
    tasks = [asyncio.create_task(worker(inbox, outbox)) for _ in range(20)]
    for item in range(500000):
        inbox.put_nowait(item)
    await inbox.join()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
asyncio.run(main())
"""

PROGRAMS = {
    "json": JSON, "template": TEMPLATE, "structures": STRUCTURES, "numpy": NUMPY,
    "asyncio": ASYNCIO,
}
