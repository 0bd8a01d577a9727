"""The embedding layer of a recommendation model as one PyTorch module: ``FusedEmbeddingBags``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_, itemgetter
from pathlib import Path
from typing import Any, cast

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.optimizers import Optimizer, counts_iterations
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.torch.bag_bounds import stacked_bounds
from gnarl.sw.runtime.cuda.torch.bounds_check import BoundsCheck
from gnarl.sw.runtime.cuda.torch.conversion import (
    Conversion,
    converted_model,
    keeping_types,
)
from gnarl.sw.runtime.cuda.torch.embedding_bag_modules import (
    read_embedding_bag_collection,
    read_embedding_bags,
)
from gnarl.sw.runtime.cuda.torch.extra import is_recorded, torch
from gnarl.sw.runtime.cuda.torch.float64 import has_float64, look_up_in_float64
from gnarl.sw.runtime.cuda.torch.keyed_inputs import (
    PackedInputs,
    PooledEmbeddings,
    Stack,
    Tensors,
    is_keyed_jagged,
    keyed_tensor_type,
    pack_keyed_jagged,
    pack_mapping,
)
from gnarl.sw.runtime.cuda.torch.lookup import Lookup, check_table
from gnarl.sw.runtime.cuda.torch.module_arguments import (
    cuda_settings,
    input_layout,
    named_tables,
    schedules_for,
)
from gnarl.sw.runtime.cuda.torch.operator import fused_embedding_bags
from gnarl.sw.runtime.cuda.torch.operator_program import OperatorProgram
from gnarl.sw.runtime.cuda.torch.optimizer_state import new_iteration, new_states
from gnarl.sw.runtime.cuda.torch.padding import padding_rows, without_padding
from gnarl.sw.runtime.cuda.torch.separate_outputs import look_up_separately, separated
from gnarl.sw.runtime.cuda.torch.sparse_gradients import sparse_tables
from gnarl.sw.runtime.cuda.torch.training import trained_embedding_bags
from gnarl.sw.runtime.cuda.torch.variable_batch import rows_of_samples
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors


class FusedEmbeddingBags(torch.nn.Module):
    """Looks all features of a model up in one kernel.

    On a GPU that is the fused kernel, compiled when it is first needed; on the CPU it is PyTorch's
    own operators. Gradients are of weights and, dense, of tables; with an optimizer the backward
    pass takes its step instead, of the tables that require gradients.

    tables
        [rows, dim], one for each feature in order, or by name; on the CPU float64 where features
        say float32, for outputs of float64, too. Parameters stay the caller's own;
        other tensors become parameters without gradients that share their memory.
    features
        in the order of the outputs.
    schedules
        a schedule set or a file of one, for a model with exactly these features; without, the cost
        model chooses.
    config
        of the CUDA target, by name or as it is: what the cost model chooses for, or a file must
        have been written for.
    checked
        whether offsets and indices are checked on the host before every lookup.
    emulated
        whether lookups on the CPU go through the emulation of a GPU: slow, for tests.
    table_of, key_of
        by feature: the name of its table and of its input, where they are not the feature's own.
        Features may share both.
    include_last_offset
        whether offsets are [batch + 1], or [batch] without the last.
    optimizer
        that is fused into the backward pass. Each table then has a buffer ``state`` beside
        ``weight`` if the optimizer has states, ``momentum1`` and ``momentum2`` if it has two, and
        the module the buffer ``learning_rate``, float32 [], which starts as the optimizer's ``lr``
        and may be written to at any time; ``iter``, int64 [], is how many steps were taken, of
        optimizers that depend on it.
    sparse
        whether gradients of tables are sparse, or the names of those whose are, as in
        ``nn.EmbeddingBag``.
    bounds_check_mode
        what is done about offsets and indices out of range, on their device, without waiting for
        it: ``fatal``, ``warning`` or ``ignore``, as ``BoundsCheck`` has them.

    Attributes: ``model``, ``schedules``. Its state has ``embedding_bags.<table>.weight``, as
    TorchRec has it, and tables given in order are called ``0``, ``1``, …; states of a
    ``ModuleDict`` of bags, ``<table>.weight``, load as well. Raises ``GnarlError``.
    """

    _HOLDERS = "embedding_bags"
    """Name of the part that has the tables."""

    _UNPOOLED = False

    _found: tuple[torch.Tensor, list[torch.Tensor], list[Any]] | None
    """Addresses of tables, the tables, and where the module has them: members of their holders."""
    _program: str
    _handle: str

    def __init__(
        self,
        tables: Sequence[torch.Tensor] | Mapping[str, torch.Tensor] | torch.nn.ParameterDict,
        features: Sequence[Feature],
        schedules: ScheduleSet | str | Path | None = None,
        *,
        config: CudaConfig | str = "cuda_sm90",
        checked: bool = False,
        emulated: bool = False,
        table_of: Mapping[str, str] | None = None,
        key_of: Mapping[str, str] | None = None,
        include_last_offset: bool = True,
        optimizer: Optimizer | None = None,
        sparse: bool | Collection[str] = False,
        bounds_check_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.model = EmbeddingModel("embedding bags", tuple(features))
        names = [feature.name for feature in features]
        named, tables_of = named_tables(tables, names, table_of)
        for feature, table in zip(features, tables_of, strict=True):
            if table not in named:
                raise WorkloadError(f"feature {feature.name}: no such table: {table}")
            check_table(feature, named[table], float64=True)
        self.add_module(self._HOLDERS, torch.nn.ModuleDict())
        for name, tensor in named.items():
            self._add_table(name, tensor)
        self.register_load_state_dict_pre_hook(_rename_tables)
        self.register_load_state_dict_post_hook(_follow_loaded)
        settings = cuda_settings(config)
        self._settings = settings
        self._outputs_follow = True
        self._keyed: Callable[..., Any] | None = None
        self.schedules = schedules_for(schedules, self.model, settings)
        numbers = {name: number for number, name in enumerate(named)}
        self._sparse = sparse_tables(sparse, features, tables_of, optimizer)
        self._operator = OperatorProgram(
            self.model,
            self.schedules,
            tuple(numbers[table] for table in tables_of),
            checked or settings.checked,
            emulated,
            optimizer,
            tuple(numbers[table] for table in self._sparse),
            self._UNPOOLED,
        )
        if optimizer is not None:
            self._add_states(optimizer)
        if self.model.has_padding:
            padding = padding_rows(self.model).to(named[tables_of[0]].device)
            self.register_buffer("_padding", padding, persistent=False)
        self.bounds_check: BoundsCheck | None = None
        if bounds_check_mode is not None:
            device = named[tables_of[0]].device
            self.bounds_check = BoundsCheck(self.model, bounds_check_mode).to(device)
        self._name_operator()
        self._inputs = input_layout(self.model, key_of or {}, include_last_offset)
        self._dims = [feature.dim for feature in features]

    @classmethod
    def from_embedding_bags(
        cls,
        bags: Mapping[str, torch.nn.Module] | torch.nn.ModuleDict,
        schedules: ScheduleSet | str | Path | None = None,
        *,
        weighted: Collection[str] = (),
        factors: Mapping[str, PoolingFactors] | None = None,
        include_last_offset: bool | None = None,
        **options: Any,
    ) -> FusedEmbeddingBags:
        """A module in place of ``{name: bag(values[name], offsets[name]) for name, bag in
        bags.items()}``.

        The parameters are the bags' own. ``weighted`` names the bags that are called with
        ``per_sample_weights``, ``factors`` says what is known of pooling factors,
        ``include_last_offset`` is the bags' unless it is given, ``options`` are the constructor's.
        Raises ``WorkloadError`` for bags with an option that changes results
        or gradients: ``max_norm``, ``scale_grad_by_freq``.
        """
        layer = read_embedding_bags(
            dict(bags.items()), weighted, factors or {}, include_last_offset
        )
        return cls(schedules=schedules, **{**vars(layer), **options})

    @classmethod
    def from_embedding_bag_collection(
        cls,
        collection: Any,
        schedules: ScheduleSet | str | Path | None = None,
        *,
        factors: Mapping[str, PoolingFactors] | None = None,
        include_last_offset: bool = True,
        **options: Any,
    ) -> FusedEmbeddingBags:
        """A module in place of TorchRec's ``EmbeddingBagCollection``, which need not be installed.

        The parameters are the collection's own; outputs are float32, whatever the tables. Of
        quantised collections tables are copied, and outputs are of their ``output_dtype``. Keyed
        jagged tensors give TorchRec's ``KeyedTensor`` if it is imported.
        ``factors`` by output, that is ``feature`` or ``feature@table``; ``options`` are the
        constructor's.
        """
        layer = read_embedding_bag_collection(collection, factors or {})
        layer = replace(layer, include_last_offset=include_last_offset)
        module = cls(schedules=schedules, **{**vars(layer), **options})
        module._outputs_follow = False
        module._keyed = keyed_tensor_type()
        return module

    def forward(
        self,
        values: Any,
        offsets: Tensors | None = None,
        lengths: Tensors | None = None,
        weights: Tensors | None = None,
    ) -> Any:
        """Pools a batch.

        values
            by key: [values] with offsets or lengths, or [batch, length] without; or a
            ``KeyedJaggedTensor``, which has everything. int32 or int64.
        offsets, lengths
            by key: [batch + 1] or [batch]; [batch].
        weights
            by key, in the shape of values, where the feature is weighted.

        Returns for each feature [batch, dim], columns of one buffer for each output type; for a
        ``KeyedJaggedTensor`` as ``PooledEmbeddings``, or ``KeyedTensor`` of a module in place of
        TorchRec's. Raises ``WorkloadError``.
        """
        inputs = self._pack(values, offsets, lengths, weights)
        if is_keyed_jagged(values):
            keys, pooled = list(self._inputs.features), self._side_by_side(inputs)
            return (self._keyed or PooledEmbeddings)(keys, self._dims, pooled)
        return dict(zip(self._inputs.features, self._look_up_separately(inputs), strict=True))

    def forward_concatenated(
        self,
        values: Any,
        offsets: Tensors | None = None,
        lengths: Tensors | None = None,
        weights: Tensors | None = None,
    ) -> torch.Tensor:
        """Outputs as from ``forward``, all features side by side: [batch, sum of dims]."""
        return self._side_by_side(self._pack(values, offsets, lengths, weights))

    def extra_repr(self) -> str:
        return f"features={len(self.model.features)}, schedules={len(self.schedules.schedules)}"

    def _add_table(self, name: str, table: torch.Tensor) -> None:
        holder = torch.nn.Module()
        if not isinstance(table, torch.nn.Parameter):
            table = torch.nn.Parameter(table, requires_grad=False)
        holder.weight = table
        try:
            self._holders[name] = holder
        except (KeyError, TypeError):
            raise WorkloadError(
                f"table {name!r}: cannot name a part of a PyTorch module: must have no dots, and "
                "differ from the attributes of ModuleDict"
            ) from None

    def _add_states(self, optimizer: Optimizer) -> None:
        for holder in self._holders.values():
            table = holder.get_parameter("weight")
            for name, state in new_states(optimizer, table).items():
                holder.register_buffer(name, state)
        rate = torch.tensor(optimizer.lr, dtype=torch.float32, device=table.device)
        self.register_buffer("learning_rate", rate)
        if (iteration := new_iteration(optimizer, table.device)) is not None:
            self.register_buffer("iter", iteration)

    @property
    def _holders(self) -> torch.nn.ModuleDict:
        """The tables, and what optimizers keep of them."""
        return cast(torch.nn.ModuleDict, self._modules[self._HOLDERS])

    def bags_state_dict(self) -> dict[str, torch.Tensor]:
        """The tables as a ``ModuleDict`` of ``nn.EmbeddingBag`` loads them: ``<table>.weight``."""
        tables = zip(self._holders, self._tables(), strict=True)
        return {f"{name}.weight": table.detach() for name, table in tables}

    def _pack(
        self, values: Any, offsets: Tensors | None, lengths: Tensors | None, weights: Tensors | None
    ) -> PackedInputs:
        keyed = is_keyed_jagged(values)
        if not keyed:
            packed = pack_mapping(self._inputs, values, offsets, lengths, weights, self._stack())
        elif offsets is not None or lengths is not None or weights is not None:
            raise WorkloadError("input: a keyed jagged tensor has offsets, lengths and weights")
        else:
            packed = pack_keyed_jagged(self._inputs, values, checked=self._operator.checked)
        packed = self._within_bounds(packed, whole=keyed)
        if self.model.has_padding:
            return without_padding(self.model, packed, self.get_buffer("_padding"))
        return packed

    def _stack(self) -> Stack:
        if self.bounds_check is not None:
            return self.bounds_check.stacked
        return partial(stacked_bounds, checked=self._operator.checked)

    def _within_bounds(self, inputs: PackedInputs, *, whole: bool) -> PackedInputs:
        """The inputs as ``bounds_check`` gives them, if there is one."""
        check = self.bounds_check
        return inputs if check is None else check(inputs, whole=whole)

    def bounds_check_warnings(self) -> int:
        """How many offsets and indices were out of range since the module was made, with
        ``bounds_check_mode="warning"``; the device is waited for."""
        return 0 if self.bounds_check is None else int(self.bounds_check.found)

    def _lookup(self, inputs: PackedInputs) -> list[torch.Tensor]:
        if self._without_tables(inputs):
            return torch.ops.gnarl.fused_embedding_bags_at(
                self._table_addresses(inputs),
                inputs.values.contiguous(),
                inputs.offsets,
                None if inputs.weights is None else inputs.weights.float().contiguous(),
                self._handle,
            )
        operands = self._operands(inputs)
        if has_float64(operands[0]):
            columns = look_up_in_float64(operands[0], inputs, self._handle)
            return [torch.cat([columns[each] for each in own], dim=1) for own in self._places]
        if self._sparse and torch.is_grad_enabled():
            return _uncompiled(fused_embedding_bags, operands)
        if self._operator.optimizer is None or not torch.is_grad_enabled():
            return fused_embedding_bags(*operands)
        states = self._states()
        if counts_iterations(self._operator.optimizer):
            states.append(self.get_buffer("iter"))
        rate = self.get_buffer("learning_rate")
        return trained_embedding_bags(*operands[:-1], states, rate, operands[-1])

    def _operands(self, inputs: PackedInputs) -> tuple[Any, ...]:
        """Arguments of the operator: tables, values, offsets, weights, program."""
        # A graph that is exported runs in processes that do not know the handle.
        program = self._program if torch.compiler.is_exporting() else self._handle
        weights = None if inputs.weights is None else inputs.weights.float()
        return self._tables(), inputs.values, inputs.offsets, weights, program

    def _look_up_separately(self, inputs: PackedInputs) -> Sequence[torch.Tensor]:
        """Each feature's output, differentiable on its own but in graphs that are compiled and with
        an optimizer, whose step is one."""
        by_itself = self._operator.optimizer is None and torch.is_grad_enabled()
        uncompiled = self._sparse and torch.compiler.is_compiling()
        if by_itself and (uncompiled or not is_recorded()):
            operands = self._operands(inputs)
            if has_float64(operands[0]):
                return look_up_in_float64(operands[0], inputs, self._handle)
            if uncompiled:
                return _uncompiled(look_up_separately, operands)
            return look_up_separately(*operands)
        return separated(self._lookup(inputs), self._places, self.model.features)

    def _without_tables(self, inputs: PackedInputs) -> bool:
        """Whether addresses do, for which the host need not go through all tables."""
        return (
            not torch.compiler.is_compiling()
            and inputs.values.is_cuda
            and not torch.is_grad_enabled()
            and not self._operator.checked
        )

    def _tables(self) -> list[torch.Tensor]:
        """The tables; not parameters where ``torch.func.functional_call`` puts others in their
        place."""
        return [cast(torch.Tensor, holder.weight) for holder in self._holders.values()]

    def _states(self) -> list[torch.Tensor]:
        """All states of each table."""
        return [state for holder in self._holders.values() for state in holder.buffers()]

    def _table_addresses(self, inputs: PackedInputs) -> torch.Tensor:
        """Addresses of the tables, on the inputs' device, found out once; and the tables, which are
        kept as long."""
        if not self._is_found(inputs.values.device):
            from gnarl.sw.runtime.cuda.torch.launch import table_addresses

            tables = self._tables()
            lookup = Lookup(tables, inputs.values, inputs.offsets, inputs.weights, self._handle)
            lookup.check()
            members = [holder._parameters for holder in self._holders.values()]
            self._found = table_addresses(lookup), tables, members
        assert self._found is not None
        return self._found[0]

    def _is_found(self, device: torch.device) -> bool:
        """Whether addresses are known of the tables that the module has now."""
        if self._found is None or self._found[0].device != device:
            return False
        _, tables, members = self._found
        return all(map(is_, tables, map(_WEIGHT_OF, members)))

    def refresh(self) -> None:
        """Has lookups without gradients find out where tables are.

        ``to`` and ``load_state_dict`` call it; callers need to when they give a parameter other
        ``data``.
        """
        self._found = None

    def _apply(self, fn: Conversion, *arguments: Any, **options: Any) -> FusedEmbeddingBags:
        self.refresh()
        states = self._states()
        if self._operator.optimizer is not None:
            states.append(self.get_buffer("learning_rate"))
        super()._apply(keeping_types(fn, states), *arguments, **options)
        self._follow_tables()
        return self

    def _follow_tables(self) -> None:
        """Has features of the types that tables were converted to."""
        tables = self._tables()
        of_features = [tables[number] for number in self._operator.table_of_feature]
        model = converted_model(self.model, of_features, self._outputs_follow)
        if model != self.model:
            self.model = model
            self.schedules = choose_schedules(model, self._settings)
            self._operator = replace(self._operator, model=model, schedules=self.schedules)
            self._name_operator()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_found": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._name_operator()

    def _name_operator(self) -> None:
        """Makes the operator known to this process."""
        self._found = None
        self._program, self._handle = self._operator.text, self._operator.handle
        self._places = list(self._operator.features_by_type.values())

    def _side_by_side(self, inputs: PackedInputs) -> torch.Tensor:
        """[samples, sum of dims]."""
        buffers = self._lookup(inputs)
        if len(buffers) != 1:
            raise WorkloadError(
                f"outputs: are of {len(buffers)} types: must be of one type to be concatenated"
            )
        return rows_of_samples(buffers[0], self._dims, inputs.rows)


_WEIGHT_OF = itemgetter("weight")


@torch.compiler.disable
def _uncompiled(look_up: Callable[..., Any], operands: tuple[Any, ...]) -> list[torch.Tensor]:
    """PyTorch compiles no graphs with sparse gradients."""
    return look_up(*operands)


def _rename_tables(
    module: FusedEmbeddingBags, state: dict[str, Any], prefix: str, *_: object
) -> None:
    """The state of a ``ModuleDict`` of bags has no ``embedding_bags`` in its names."""
    module.refresh()
    for name in module._holders:
        plain = f"{prefix}{name}.weight"
        if plain in state:
            state[f"{prefix}{module._HOLDERS}.{name}.weight"] = state.pop(plain)


def _follow_loaded(module: FusedEmbeddingBags, _: object) -> None:
    """Tables that are assigned may be of another type."""
    module._follow_tables()
