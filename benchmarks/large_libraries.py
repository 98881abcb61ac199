"""Parts of the packages of the large suites that planted tests use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planted_code import Snippet
from planted_state import Library

LIBRARIES: Mapping[str, Library] = {
    "networkx": Library(
        package="networkx",
        modules=(
            *("networkx.classes.graph", "networkx.utils.misc", "networkx.readwrite.gml", "networkx.convert"),
            *("networkx.drawing.layout", "networkx.generators.classic", "networkx.linalg.spectrum"),
        ),
        classes=("networkx.Graph", "networkx.DiGraph", "networkx.MultiGraph", "networkx.utils.UnionFind"),
        functions=("networkx.utils.misc.make_list_of_ints", "networkx.drawing.layout.rescale_layout_dict"),
    ),
    "xarray": Library(
        package="xarray",
        modules=(
            *("xarray.core.utils", "xarray.core.formatting", "xarray.core.indexing", "xarray.core.dtypes"),
            *("xarray.coding.times", "xarray.plot.utils", "xarray.core.nputils"),
        ),
        classes=("xarray.Variable", "xarray.DataArray", "xarray.Dataset", "xarray.IndexVariable"),
        functions=("xarray.core.formatting.wrap_indent", "xarray.core.nputils.inverse_permutation"),
    ),
    "statsmodels": Library(
        package="statsmodels",
        modules=(
            *("statsmodels.tools.tools", "statsmodels.base.data", "statsmodels.stats.moment_helpers"),
            *("statsmodels.iolib.table", "statsmodels.tools.eval_measures", "statsmodels.regression.linear_model"),
        ),
        classes=(
            *("statsmodels.regression.linear_model.OLS", "statsmodels.iolib.table.Cell"),
            *("statsmodels.base.model.Model", "statsmodels.genmod.families.Poisson"),
        ),
        functions=("statsmodels.tools.tools.clean0", "statsmodels.stats.moment_helpers.mc2mnc"),
    ),
    "dask": Library(
        package="dask",
        modules=(
            *("dask.utils", "dask.core", "dask.array.core", "dask.optimization", "dask.array.slicing"),
            *("dask.highlevelgraph", "dask.array.chunk"),
        ),
        classes=("dask.array.Array", "dask.highlevelgraph.HighLevelGraph", "dask.callbacks.Callback"),
        functions=("dask.utils.parse_timedelta", "dask.utils.format_time"),
    ),
    "sympy": Library(
        package="sympy",
        modules=(
            *("sympy.core.evalf", "sympy.utilities.misc", "sympy.printing.str", "sympy.matrices.utilities"),
            *("sympy.core.numbers", "sympy.sets.sets", "sympy.utilities.iterables"),
        ),
        classes=("sympy.Symbol", "sympy.Integer", "sympy.FiniteSet", "sympy.printing.str.StrPrinter"),
        functions=("sympy.utilities.misc.filldedent", "sympy.utilities.iterables.flatten"),
    ),
    "pandas": Library(
        package="pandas",
        modules=(
            *("pandas.core.common", "pandas.core.missing", "pandas.io.formats.format", "pandas.core.algorithms"),
            *("pandas.core.nanops", "pandas.core.indexing", "pandas.util._validators"),
        ),
        classes=("pandas.Series", "pandas.DataFrame", "pandas.Index", "pandas.RangeIndex"),
        functions=("pandas.core.common.flatten", "pandas.core.common.pipe"),
    ),
}

SNIPPETS: Mapping[str, Sequence[Snippet]] = {
    "networkx": (
        Snippet(
            imports=("import networkx as nx",),
            lines=("graph = nx.path_graph({n})",),
            check="graph.number_of_edges() == {n} - 1",
        ),
        Snippet(
            imports=("import networkx as nx",),
            lines=("cycle = nx.cycle_graph({n})", "degrees = dict(cycle.degree())"),
            check="set(degrees.values()) == {2}",
        ),
        Snippet(
            imports=("import networkx as nx",),
            lines=("tree = nx.star_graph({n})", "reached = nx.single_source_shortest_path_length(tree, 1)"),
            check="max(reached.values()) == 2",
        ),
        Snippet(
            imports=("import networkx as nx",),
            lines=("graph = nx.complete_graph({n})", "graph.remove_node(0)"),
            check="nx.density(graph) == 1.0",
        ),
    ),
    "xarray": (
        Snippet(
            imports=("import numpy as np", "import xarray as xr"),
            lines=('array = xr.DataArray(np.arange({n}), dims="x")',),
            check="array.sizes == {'x': {n}}",
        ),
        Snippet(
            imports=("import numpy as np", "import xarray as xr"),
            lines=('data = xr.Dataset({"a": ("x", np.ones({n}))})', "total = data.sum()"),
            check='float(total["a"]) == {n}',
        ),
        Snippet(
            imports=("import numpy as np", "import xarray as xr"),
            lines=('variable = xr.Variable(("x", "y"), np.zeros(({n}, 3)))',),
            check='variable.transpose("y", "x").shape == (3, {n})',
        ),
    ),
    "statsmodels": (
        Snippet(
            imports=("import numpy as np", "import statsmodels.api as sm"),
            lines=("exog = sm.add_constant(np.arange({n}.0))", "fit = sm.OLS(2 * np.arange({n}.0), exog).fit()"),
            check="abs(fit.params[1] - 2) < 1e-8",
        ),
        Snippet(
            imports=("import numpy as np", "from statsmodels.tools.eval_measures import rmse"),
            lines=("observed = np.linspace(0, 1, {n})",),
            check="rmse(observed, observed) == 0",
        ),
        Snippet(
            imports=("import numpy as np", "import statsmodels.api as sm"),
            lines=("exog = sm.add_constant(np.random.default_rng({n}).normal(size={n}))",),
            check="exog.shape == ({n}, 2)",
        ),
    ),
    "dask": (
        Snippet(
            imports=("import dask.array as da",),
            lines=("x = da.ones(({n}, {n}), chunks=2)",),
            check="x.sum().compute(scheduler='sync') == {n} * {n}",
        ),
        Snippet(
            imports=("import dask",),
            lines=("total = dask.delayed(sum)(list(range({n})))",),
            check="total.compute(scheduler='sync') == sum(range({n}))",
        ),
        Snippet(
            imports=("from dask.utils import format_bytes",),
            lines=("text = format_bytes({n} * 2**30)",),
            check='text.endswith("GiB")',
        ),
    ),
    "sympy": (
        Snippet(
            imports=("from sympy import Integer, Symbol",),
            lines=('x = Symbol("x")', "power = (x + 1) ** {n}"),
            check="power.subs(x, 1) == Integer(2) ** {n}",
        ),
        Snippet(
            imports=("from sympy import Range",),
            lines=("numbers = Range({n})",),
            check="len(numbers) == {n}",
        ),
        Snippet(
            imports=("from sympy import eye",),
            lines=("identity = eye({n})",),
            check="identity.trace() == {n}",
        ),
    ),
    "pandas": (
        Snippet(
            imports=("import numpy as np", "import pandas as pd"),
            lines=("series = pd.Series(np.arange({n}))",),
            check="series.sum() == {n} * ({n} - 1) // 2",
        ),
        Snippet(
            imports=("import pandas as pd",),
            lines=('frame = pd.DataFrame({"a": range({n}), "b": 1})', 'sums = frame.groupby("b")["a"].count()'),
            check="sums.loc[1] == {n}",
        ),
        Snippet(
            imports=("import pandas as pd",),
            lines=('days = pd.date_range("2024-01-01", periods={n})',),
            check="len(days) == {n}",
        ),
    ),
}
