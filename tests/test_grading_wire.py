"""What crosses the line comes out as it went in, and what isn't a message is refused."""

import collections
import json
import socket
import struct
import threading

import numpy as np
import pytest
import safetensors.torch
import torch

from course_lib.grading.confined.wire import (
    HEAD_AT_MOST,
    KINDS,
    TENSORS_AT_MOST,
    TEXT_AT_MOST,
    Broken,
    Channel,
    Opaque,
    pack,
    save,
    unpack,
)


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


def crossed(value: object, ends: tuple) -> object:
    """The value, as the other end has it."""
    functions: list = []
    packed = pack(value, tensors := [], lambda fn: functions.append(fn) or len(functions) - 1)
    sending = threading.Thread(target=Channel(ends[0]).send, args=({"value": packed}, tensors))
    sending.start()
    message, got = Channel(ends[1]).receive()
    sending.join()
    return unpack(message["value"], got, functions.__getitem__)


PLAIN = [None, True, 0, -7, 10**40, 2.5, -0.0, "", "Größe \ud800 大", [], [1, [2.0]], (1, "a"),
         {1, 2}, {"a": 1, 2: (3,)}, {(1, 2): None}, torch.float16]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values(ends, value):
    got = crossed(value, ends)
    assert got == value and type(got) is type(value)


def test_numbers_that_are_none(ends):
    got = crossed([float("inf"), -float("inf"), float("nan")], ends)
    assert got[:2] == [float("inf"), -float("inf")] and got[2] != got[2]


@pytest.mark.parametrize("dtype", KINDS)
def test_tensors(ends, dtype):
    x = torch.arange(24).reshape(2, 3, 4).to(dtype).transpose(0, 2)
    got = crossed(x, ends)
    assert got.dtype == dtype and torch.equal(got.double(), x.double())


def test_what_comes_one_after_another_crosses_as_a_list(ends):
    values = [iter([1, 2]), (x for x in [3]), {4: 5}.keys(), collections.deque([6]), map(abs, [-7])]
    assert crossed(values, ends) == [[1, 2], [3], [4], [6], [7]]


def test_an_array_of_no_axes_stays_one(ends):
    got = crossed(np.array(7), ends)
    assert got.shape == () and got == 7


def test_what_is_saved_is_what_the_library_saves():
    tensors = [torch.randn(2, 3, dtype=torch.float64), torch.tensor(7), torch.zeros(0, 5)]
    theirs = safetensors.torch.save({str(i): tensor for i, tensor in enumerate(tensors)})
    ours, theirs = (safetensors.torch.load(packed) for packed in (save(tensors), theirs))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_dtype_that_has_no_name_does_not_cross(ends):
    assert repr(crossed(torch.zeros(2, dtype=torch.complex64), ends)).startswith("torch.strided")


def test_tensors_of_odd_forms(ends):
    shared = torch.arange(3.0)
    given = [torch.tensor(5.0), torch.zeros(0, 3), shared.expand(4, 3), shared[::2], shared, shared]
    got = crossed(given, ends)
    assert all(torch.equal(a, b) for a, b in zip(given, got, strict=True))
    got[-1].add_(1)
    assert torch.equal(got[-2], shared), "two tensors came to share their memory"


def test_whether_a_tensor_has_a_gradient(ends):
    leaf = torch.ones(2, requires_grad=True)
    without, leaf, made = crossed((torch.ones(2), leaf, leaf * 2), ends)
    assert not without.requires_grad
    assert leaf.requires_grad and leaf.is_leaf
    assert made.requires_grad and not made.is_leaf


def test_values_of_numpy(ends):
    array, number = crossed([np.arange(6).reshape(2, 3), np.float64(2.5)], ends)
    assert isinstance(array, np.ndarray) and array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert number == 2.5 and isinstance(number, np.generic)


def test_subclasses_come_as_what_they_are_made_of(ends):
    class Names(list):
        pass

    class Mine(torch.Tensor):
        pass

    got = crossed([Names("ab"), torch.ones(2).as_subclass(Mine), torch.Size([2, 3])], ends)
    assert [type(part) for part in got] == [list, torch.Tensor, tuple]


def test_functions_become_numbers(ends):
    assert crossed([len, max], ends) == [len, max]


@pytest.mark.parametrize("value", [object(), torch.zeros(2).to_sparse(), torch.zeros(2) + 0j, ...])
def test_what_does_not_cross_tells_its_type(ends, value):
    assert isinstance(crossed(value, ends), Opaque)


def test_an_object_without_a_name(ends):
    assert repr(crossed(type("", (), {})(), ends))


DEEP: list = []
for _ in range(99):
    DEEP = [DEEP]
TENSOR = {"tensor": 0, "grad": 0}
NONE_OF_PACK = [
    DEEP,
    [],
    {},
    {"list": 3},
    {"set": [{"list": []}]},
    {"dict": [[1]]},
    {"dict": [[{"list": []}, 1]]},
    {"dtype": "load"},
    {"dtype": "nothing"},
    {"dtype": 3},
    {"tensor": 5, "grad": 0},
    {"tensor": "0"},
    {"tensor": 0},
    {"tensor": 10**30, "grad": 0},
    {"array": "a"},
    {"scalar": {"a": [[1], 2]}},
    {"function": "a"},
    {"function": 99},
    {"other": "a\0b"},
    {"unknown": 1},
    {"list": [TENSOR, TENSOR]},
    {"list": [{"array": 0}, TENSOR]},
]


@pytest.mark.parametrize("packed", NONE_OF_PACK, ids=lambda packed: str(packed)[:40])
def test_what_no_pack_makes_is_refused(packed):
    with pytest.raises(Broken):
        unpack(packed, [torch.ones(2)], [len].__getitem__)


def test_a_deep_value_is_refused():
    packed: object = 1
    for _ in range(14):
        packed = {"list": [packed]}
    with pytest.raises(Broken):
        unpack(packed, [], [].__getitem__)


def tensors(head: object, numbers: bytes = b"") -> bytes:
    said = json.dumps(head).encode()
    return struct.pack("<Q", len(said)) + said + numbers


def frame(text: bytes = b"{}", packed: bytes = b"") -> bytes:
    return struct.pack("!II", len(text), len(packed)) + text + packed


LIE = {"0": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
MANY = {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(2_000)}
BROKEN = {
    "nothing": b"",
    "half a head": b"\0\0\0",
    "half a text": struct.pack("!II", 9, 0) + b"{",
    "a text too large": struct.pack("!II", TEXT_AT_MOST + 1, 0),
    "tensors too large": struct.pack("!II", 2, TENSORS_AT_MOST + 1),
    "no JSON": frame(b"\xff{"),
    "no object": frame(b"[1]"),
    "deep JSON": frame(b"[" * 200_000),
    "a long number": frame(b"9" * 200_000),
    "noise in place of tensors": frame(packed=b"\xff" * 99),
    "a tensor that lies": frame(packed=tensors(LIE, b"    ")),
    "too many tensors": frame(packed=tensors(MANY)),
    "tensors of other names": frame(
        packed=tensors({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"    ")
    ),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_what_is_no_message_is_refused(ends, sent):
    def send():
        ends[0].sendall(sent)
        ends[0].close()

    threading.Thread(target=send).start()
    with pytest.raises(Broken):
        Channel(ends[1]).receive()


def test_the_head_of_many_tensors_is_too_long():
    assert len(tensors(MANY)) > HEAD_AT_MOST


@pytest.mark.parametrize(
    "size", [TENSORS_AT_MOST // 4 + 1, 1 << 44], ids=["megabytes", "terabytes"]
)
def test_what_is_too_large_is_not_sent(ends, size):
    with pytest.raises((ValueError, RuntimeError)):
        Channel(ends[0]).send({}, [torch.zeros(1).expand(size)])
    with pytest.raises(ValueError, match="too large"):
        Channel(ends[0]).send({"x": "a" * TEXT_AT_MOST}, [])
    ends[1].setblocking(False)
    with pytest.raises(BlockingIOError):
        ends[1].recv(1)


def test_an_end_that_takes_nothing_is_given_up(ends):
    channel = Channel(ends[0], patience=0.2)
    with pytest.raises(Broken):
        for _ in range(99):
            channel.send({}, [torch.zeros(1 << 18)])


def test_whoever_waits_may_stop(ends):
    def stop(silent):
        raise TimeoutError("enough")

    ends[0].sendall(b"\0\0")
    with pytest.raises(TimeoutError, match="enough"):
        Channel(ends[1]).receive(stop)
