"""Programs that compute each matched tensor by the operations of one program or of the other.

A hybrid is one choice per class. The arguments of a program are matched tensors too, so that an argument in
the other program's layout is one of the choices. A region is what one program does between the first values
of other classes and those of a class: it is cut there alone, because cutting at a later value, such as a
transposed weight, would hand over what the program has to compute.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from stackwars.core.program import Emitter, Graph, Op
from stackwars.core.types import element, shape, tensor
from stackwars.explain.matching import AxisMap, Class

_PRODUCT = re.compile(r"#stablehlo\.(?:dot|conv)<(?:->|[^>])*>")
Node = tuple[int, int]
"""(side, value): a value of the program of that side; 0 is A, 1 is B."""
A, B = 0, 1


class CyclicChoiceError(ValueError):
    """The choices need a value for computing itself: the programs compute two tensors in opposite orders."""


@dataclass(frozen=True)
class CutProgram:
    """A program made of operations of A and B, or one of them as it is.

    arguments, results: the values behind them. ops: (side, operation) in order; those of a program as it is are none.
    """

    text: str | bytes
    arguments: tuple[Node, ...]
    ops: tuple[tuple[int, Op], ...] = ()
    results: tuple[Node, ...] = ()


@dataclass(frozen=True)
class RegionKind:
    """Classes with the same regions and maps: what the layers of a model repeat."""

    number: int
    classes: tuple[int, ...]
    is_layout: bool
    """Both programs are given the tensor as an argument: the choice is its layout alone."""
    is_same: bool
    """Both programs do the same: the choice changes nothing."""

    def __len__(self) -> int:
        return len(self.classes)


class Hybrids:
    """The choices between two programs. of: per side {value: its class}."""

    def __init__(self, graphs: tuple[Graph, Graph], classes: list[Class]) -> None:
        self.graphs, self.classes = graphs, classes
        self.of = tuple(
            {v: c for c, tensor in enumerate(classes) for v in tensor.maps[side]} for side in (A, B)
        )
        self._first = frozenset((side, tensor.first[side]) for tensor in classes for side in (A, B))
        self._regions: dict[Node, CutProgram] = {}

    def hybrid(self, flipped: Iterable[int]) -> CutProgram:
        """Return A with these classes computed by B's operations."""
        chosen = frozenset(flipped)
        targets = [(A, value) for value in self.graphs[A].results]
        return self._cut(targets, lambda c: B if c in chosen else A)

    def region(self, c: int, side: int) -> CutProgram:
        """Return what a program does between the first values of other classes and those of this one.

        A result of the program that holds the tensor belongs to it: nothing else would count a copy made at
        the end.
        """
        if (c, side) not in self._regions:
            first = (side, self.classes[c].first[side])
            members = self.classes[c].maps[side]
            targets = [first, *((side, v) for v in self.graphs[side].results if v in members)]
            self._regions[c, side] = self._cut(
                list(dict.fromkeys(targets)), lambda _: side, self._first - {first}
            )
        return self._regions[c, side]

    @cached_property
    def kinds(self) -> list[RegionKind]:
        grouped: dict[str, list[int]] = {}
        for c in range(len(self.classes)):
            grouped.setdefault(self._signature(c), []).append(c)
        return [
            RegionKind(number, tuple(members), self._is_layout(members[0]), self._is_same(members[0]))
            for number, members in enumerate(grouped.values())
        ]

    def family(self, kind: RegionKind) -> str:
        """Return what kinds have in common that differ in shape alone: the order of the axes, or the products."""
        if kind.is_layout:
            first, maps = self.classes[kind.classes[0]].first, self.classes[kind.classes[0]].maps
            return f"layout {maps[A][first[A]].order}"
        names = [[op.form() for _, op in self.region(kind.classes[0], side).ops] for side in (A, B)]
        products = [{found[0] for text in forms if (found := _PRODUCT.search(text))} for forms in names]
        if any(products):
            return f"products {[sorted(found) for found in products]}"
        return f"kind {kind.number}"

    def layouts_read(self, kind: RegionKind) -> list[RegionKind]:
        """Return the kinds of arguments that the regions of a kind read."""
        read = set().union(*map(self._classes_read, kind.classes))
        return [
            layout
            for layout in self.kinds
            if layout.is_layout and layout is not kind and read & set(layout.classes)
        ]

    def readers(self, c: int) -> frozenset[int]:
        """Return the kinds whose regions read the argument of a class."""
        return frozenset(
            kind.number
            for kind in self.kinds
            if any(c in self._classes_read(member) for member in kind.classes if member != c)
        )

    def _classes_read(self, c: int) -> set[int | None]:
        return {self.of[side].get(v) for side in (A, B) for _, v in self.region(c, side).arguments}

    def _is_layout(self, c: int) -> bool:
        first = self.classes[c].first
        return all(first[side] not in self.graphs[side].maker for side in (A, B)) and not any(
            self.region(c, side).ops for side in (A, B)
        )

    def _is_same(self, c: int) -> bool:
        first, maps = self.classes[c].first, self.classes[c].maps
        types = [self.graphs[side].types[first[side]] for side in (A, B)]
        is_straight = types[A] == types[B] and maps[A][first[A]].is_reshape
        return is_straight and self._forms(c, A) == self._forms(c, B)

    def _signature(self, c: int) -> str:
        first, members = self.classes[c].first, self.classes[c].maps
        maps = [str(members[side][first[side]]) for side in (A, B)]
        text = "\n".join([*self._forms(c, A), "and", *self._forms(c, B), *maps])
        return hashlib.sha256(text.encode()).hexdigest()

    def _forms(self, c: int, side: int) -> list[str]:
        """Return a region's operations with their operands numbered by the place that made them."""
        region = self.region(c, side)
        types = self.graphs[side].types
        numbers = {value: f"a{place}" for place, (_, value) in enumerate(region.arguments)}
        forms = [types[value] for _, value in region.arguments]
        for place, (_, op) in enumerate(region.ops):
            forms.append(f"{op.form()} {' '.join(numbers[value] for value in op.reads)}")
            numbers |= {value: f"o{place}.{k}" for k, value in enumerate(op.results)}
        return [*forms, *(numbers[value] for _, value in region.results)]

    def _cut(
        self, targets: Sequence[Node], choice: Callable[[int], int], cuts: Collection[Node] = frozenset()
    ) -> CutProgram:
        """Return the program that computes the targets. choice: the side that computes a class. cuts: values that are
        arguments of it.
        """

        def source(node: Node) -> Node | None:
            """Return the other program's value that this one is taken from; None if it is not."""
            side, value = node
            c = self.of[side].get(value)
            if node in cuts or c is None or choice(c) == side:
                return None
            return 1 - side, self.classes[c].first[1 - side]

        def is_read(node: Node) -> bool:
            return node in cuts or node[1] not in self.graphs[node[0]].maker

        def reads(node: Node) -> list[Node]:
            if (other := source(node)) is not None:
                return [other]
            side, value = node
            return [] if is_read(node) else [(side, read) for read in self.graphs[side].maker[value].reads]

        emitter, names, arguments, ops = Emitter(), {}, [], {}
        for node in _order(targets, reads):
            side, value = node
            # A node is one of three. First: its class is computed by the other side. Whoever reads it here gets the
            # other side's first value of the class, moved into the layout that it has here.
            if (other := source(node)) is not None:
                found = self.classes[self.of[side][value]].maps[side][value]
                names[node] = _moved(emitter, names[other], self._type(other), self._type(node), found)
            # Second: it is read, because the program is cut there or begins there.
            elif is_read(node):
                names[node] = emitter.argument(self._type(node))
                arguments.append(node)
            # Third: it is computed. An operation with several results is written once, at the first node of them.
            else:
                op = self.graphs[side].maker[value]
                if (side, op.number) not in ops:
                    written = {read: names[side, read] for read in op.reads}
                    emitter.op(self.graphs[side], op, written)
                    ops[side, op.number] = (op, written)
                names[node] = ops[side, op.number][1][value]
        text = emitter.module([(names[node], self._type(node)) for node in targets])
        return CutProgram(
            text, tuple(arguments), tuple((side, op) for (side, _), (op, _) in ops.items()), tuple(targets)
        )

    def _type(self, node: Node) -> str:
        return self.graphs[node[0]].types[node[1]]


def _order(targets: Sequence[Node], reads: Callable[[Node], list[Node]]) -> list[Node]:
    """Return all nodes that the targets need, those that are read before those that read them.

    :raises CyclicChoiceError: if a node is needed for itself.
    """
    # Depth first with a stack of our own, because a model is deeper than Python's recursion. Two programs without a
    # circle can have one once they are joined: A computes p and then q of it, B computes q and then p; with p from
    # B and q from A neither can begin. Such a node is met again between its entry and its exit.
    order: dict[Node, None] = {}
    entered: set[Node] = set()
    stack = [(node, False) for node in reversed(targets)]
    while stack:
        node, is_left = stack.pop()
        if is_left:
            entered.discard(node)
            order[node] = None
        elif node in entered:
            raise CyclicChoiceError(f"value {node[1]} of {'AB'[node[0]]} is needed for itself")
        elif node not in order:
            entered.add(node)
            stack.append((node, True))
            # A read that waits on the stack may be done by the time that its turn comes, hence `not in order` above.
            stack += [(read, False) for read in reversed(reads(node)) if read not in order]
    return list(order)


def _moved(emitter: Emitter, name: str, source: str, target: str, found: AxisMap) -> str:
    """Write an axis map, and a conversion if the programs hold the tensor in different element types."""
    if source == target and found.is_reshape:
        return name
    name = emitter.move(name, source, (found.refined, found.order, found.shape))
    if element(source) == element(target):
        return name
    return emitter.line(f'"stablehlo.convert"({name}) : ({tensor(shape(target), element(source))}) -> {target}')
