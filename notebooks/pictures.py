"""Pictures of errors, mistakes and distributions.

Errors are counted in ulps, units in the last place of the output's type.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator

import prenorm

INK, QUIET, WRONG = "#1f2328", "#8b949e", "#d1242f"
COLOURS = ["#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#0a7d86", "#9a6700"]

plt.rcParams.update({
    "figure.dpi": 110, "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": QUIET, "axes.labelcolor": INK,
    "xtick.color": QUIET, "ytick.color": QUIET, "image.cmap": "viridis",
    "axes.prop_cycle": plt.cycler(color=COLOURS), "figure.constrained_layout.use": True,
    "legend.frameon": False, "legend.fontsize": 7,
})


def flat(values):
    """A tensor as a matrix: the last axis across, all others down."""
    values = np.asarray(values)
    return values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(1, -1)


def short(solution):
    """A solution's name in words: "mistakes/no_eps" is "no eps"."""
    return solution.removeprefix("mistakes/").replace("_", " ")


def answer(solution, case):
    """The output of a solution for a case."""
    return getattr(prenorm.load(solution), case.problem)(**case.arguments)


def error_map(case, *solutions):
    """The errors of each solution in ulps, as a matrix; those outside the tolerance are red."""
    figure, axes = plt.subplots(1, len(solutions), squeeze=False,
                                figsize=(min(9, 3.6 * len(solutions)), 2.6))
    for axis, solution in zip(axes[0], solutions):
        compared = prenorm.compare(answer(solution, case), case)
        ulps = flat(np.where(compared.passes, compared.ulps, np.nan))
        largest = np.nanmax(ulps) if np.isfinite(ulps).any() else 0
        image = axis.imshow(ulps, aspect="auto", interpolation="nearest", vmin=0,
                            vmax=max(largest, 1))
        red = np.ma.masked_where(flat(compared.passes), np.ones_like(ulps))
        axis.imshow(red, aspect="auto", interpolation="nearest", cmap=ListedColormap([WRONG]),
                    vmin=0, vmax=1)
        axis.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        plt.colorbar(image, ax=axis)
        wrong = int((~compared.passes).sum())
        verdict = f"{wrong} of {compared.passes.size} wrong" if wrong else "all pass"
        axis.set_title(f"{short(solution)}: {verdict}")
    figure.suptitle(f"{case.problem} / {case.name}: errors in ulps of {case.dtype}", fontsize=9,
                    color=INK)
    plt.show()


def ulp_histograms(problem, *solutions, dtypes=prenorm.DTYPES, largest=65536):
    """The errors of solutions over all cases of each dtype: the share of elements at each number of
    ulps, one panel per dtype. Exact elements are at the left margin; cases of more than `largest`
    elements are left out."""
    figure, axes = plt.subplots(1, len(dtypes), figsize=(2.4 * len(dtypes), 2.3), sharey=True,
                                squeeze=False)
    edges = np.concatenate([[0], np.logspace(-2, 6, 49)])
    middles = np.concatenate([[1e-2], np.sqrt(edges[1:-1] * edges[2:])])
    for axis, dtype in zip(axes[0], dtypes):
        for i, solution in enumerate(solutions):
            ulps = all_ulps(problem, solution, dtype, largest)
            if not len(ulps):
                continue
            counts, _ = np.histogram(np.clip(ulps, 0, 9e5), edges)
            axis.step(middles, counts / len(ulps), where="mid", label=short(solution),
                      linewidth=max(1, 3 - i))  # a line behind another stays visible
        axis.set_xscale("log")
        axis.set_xlim(5e-3, 1e6)
        axis.set_title(dtype)
        axis.set_xlabel("error in ulps")
    axes[0][0].set_ylabel("share of elements")
    axes[0][0].legend()
    plt.show()


def all_ulps(problem, solution, dtype, largest=65536):
    """The errors in ulps of all elements that are finite, over all cases of a dtype."""
    found = []
    for case in prenorm.fixture(problem).of_dtype(dtype):
        if not case.y.size or sum(v.size for v in case.inputs.values()) > largest:
            continue
        ulps = prenorm.compare(answer(solution, case), case).ulps
        found.append(ulps[np.isfinite(ulps)])
    return np.concatenate(found) if found else np.empty(0)


def gallery(case, *mistakes):
    """Known mistakes of a case's problem, by name: the output of each beside the right answer, all in
    the same scale, and how many elements are wrong. NaN and infinities have no colour."""
    right = flat(case.y)
    finite = np.abs(right[np.isfinite(right)])
    limit = finite.max() if finite.size else 1
    figure, axes = plt.subplots(1, len(mistakes) + 1, figsize=(9, 1.7))
    for axis, name in zip(axes, (None, *mistakes)):
        given = answer(f"mistakes/{name}", case) if name else prenorm.to(case.y, case.dtype)
        wrong = int((~prenorm.compare(given, case).passes).sum())
        axis.imshow(flat(prenorm.widen(given)), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto",
                    interpolation="nearest")
        axis.axis("off")
        axis.set_title(f"{short(name)}\n{wrong} of {case.y.size} wrong" if name else "right", fontsize=8,
                       color=WRONG if wrong else INK)
    figure.suptitle(f"{case.problem} / {case.name}", fontsize=9, color=INK)
    plt.show()


def curves(axis, x, named, style="-", **settings):
    """Curves over the same x, {label: y}, on an axis with these settings."""
    for label, y in named.items():
        axis.plot(x, y, style, label=label, lw=1, ms=4)
    axis.set(**settings)
    axis.legend()


def heat(axis, values, title="", **style):
    """A matrix as colours, with a scale beside it."""
    image = axis.imshow(flat(values), aspect="auto", interpolation="nearest", **style)
    axis.set_title(title)
    plt.colorbar(image, ax=axis)
    return image
