# %% [markdown]
# # Reading handwritten digits
#
# The network of digits.c in Python: build it, check what it reads, see where its time goes.
# A script, and a notebook for editors and tools that know `# %%` (Jupytext, VS Code, Spyder):
#
#     pip install ./bindings/python numpy matplotlib
#     python examples/digits/digits.py [digits.png or .svg, where the plot goes]

# %%
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import opdyno

IN_NOTEBOOK = "get_ipython" in globals()
FOLDER = Path(__file__).parent if "__file__" in globals() else Path.cwd()
PLOT = Path(sys.argv[1]) if len(sys.argv) > 1 and not IN_NOTEBOOK else Path("digits.png")
if not IN_NOTEBOOK:
    matplotlib.use("Agg")  # needs no screen

# %% [markdown]
# ## The network
# The program calls the operators, C compiles them, and the VM runs both: `main(images, conv1_w, conv1_b, …)`.

# %%
program = opdyno.Executable.assemble((FOLDER / "digits.opdasm").read_text()).to_module()
program.import_module(opdyno.load_module(FOLDER / "kernels.c", c_flags="-O2 -std=c99"))
vm = opdyno.VirtualMachine(program, opdyno.cpu())
print("main takes", ", ".join(vm.parameter_names("main")))

# %% [markdown]
# ## What it reads
# 364 images that the training has not seen, at once: float32 [364, 8, 8, 1] in, probabilities float32 [364, 10] out.

# %%
trained, held_out = opdyno.load_params(FOLDER / "data/digits.params"), opdyno.load_params(FOLDER / "data/digits_test.npz")
pixels, labels = held_out["images"].numpy(), held_out["labels"].numpy()
images = (pixels / np.float32(16)).reshape(-1, 8, 8, 1)
arguments = [images] + [trained[name] for name in vm.parameter_names("main")[1:]]

probabilities = vm["main"](*arguments).numpy()
read = probabilities.argmax(axis=1)
right = int((read == labels).sum())
for image, digit, label, p in zip(pixels[:2], read, labels, probabilities.max(axis=1)):
    print("\n".join("".join(2 * " .:-=+*#@"[pixel // 2] for pixel in row) for row in image))
    print(f"read {digit}, is {label} ({p:.0%})\n")
print(f"accuracy: {right} of {len(labels)} held-out images, {100 * right / len(labels):.2f} %")

# %% [markdown]
# ## Where the time goes
# Every call of an operator, measured. In a notebook a report shows itself: `report` as a cell's last line.

# %%
report = vm.profile("main", *arguments)
print(report)

# %% [markdown]
# One run may be disturbed by what else the machine does, so the plot shows the median of many. Every run makes the same
# calls in the same order.

# %%
RUNS = 51
runs = [vm.profile("main", *arguments).calls for _ in range(RUNS)]
medians = [statistics.median(call["Duration (us)"].microseconds for call in same) for same in zip(*runs, strict=True)]


def title_of(call: dict[str, Any]) -> str:
    """An operator and its result, the last argument, without the batch: conv2d → 8×8×8."""
    shape = call["Argument Shapes"].rsplit("[", 1)[-1].rstrip("]").split(", ")
    return f"{call['Name']} → {'×'.join(shape[1:])}"


operators = [(title_of(call), us) for call, us in zip(runs[0], medians) if not call["Name"].startswith(("vm.", "shape_", "("))]
operators.append(("shapes, memory, dispatch", sum(medians) - sum(us for _, us in operators)))
total = sum(medians)

# %%
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the backend

names, times = zip(*operators)
figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
bars = axes.barh(names, times, color="#3b6ea5", height=0.7)
axes.bar_label(bars, [f"{us:,.1f} µs  ({us / total:.1%})" for us in times], padding=5)
axes.invert_yaxis()  # from the top in the order of the calls
axes.margins(x=0.2)  # room for the labels
axes.set_xlabel(f"time of one call in µs, median of {RUNS} runs")
axes.set_title(f"Where the {total / 1000:.2f} ms of a batch of {len(images)} digits go ({runs[0][0]['Device']})", pad=12)
axes.spines[["top", "right"]].set_visible(False)
axes.tick_params(axis="y", length=0)
figure.savefig(PLOT, dpi=150, bbox_inches="tight", pad_inches=0.2)
print(f"plot: {PLOT}")
