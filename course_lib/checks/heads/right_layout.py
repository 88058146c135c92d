"""Right ways to split, merge and share that look nothing like the references.

No check may ask for one form: each of these passes in full.
"""

import torch


def _split_by_view(x, H):
    B, T, D = x.shape
    return x.view(B, T, H, D // H).permute(0, 2, 1, 3)


def _split_by_chunks(x, H):
    return torch.stack(x.chunk(H, dim=-1), dim=1)


def _split_by_slices(x, H):
    Dh = x.shape[-1] // H
    return torch.stack([x[:, :, h * Dh : (h + 1) * Dh] for h in range(H)], dim=1)


def _split_features_first(x, H):
    B, T, D = x.shape
    return x.mT.reshape(B, H, D // H, T).mT


def _split_by_filling(x, H):
    B, T, D = x.shape
    out = x.new_empty(B, H, T, D // H)
    for feature in range(D):
        out[:, feature // (D // H), :, feature % (D // H)] = x[..., feature]
    return out


def _split_by_windows(x, H):
    Dh = x.shape[-1] // H
    return x.unfold(-1, Dh, Dh).transpose(1, 2)


def _split_through_the_batch(x, H):
    B, T, D = x.shape
    rows = x.reshape(B * T, H, D // H).transpose(0, 1).reshape(H, B, T, D // H)
    return rows.transpose(0, 1)


def _split_by_a_product(x, H):
    D = x.shape[-1]
    places = torch.eye(D, dtype=x.dtype).view(D, H, D // H)
    return torch.einsum("btf,fhd->bhtd", x, places)


SPLIT = (
    _split_by_view,
    _split_by_chunks,
    _split_by_slices,
    _split_features_first,
    _split_by_filling,
    _split_by_windows,
    _split_through_the_batch,
    _split_by_a_product,
)


def _merge_by_view(x):
    B, H, T, Dh = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * Dh)


def _merge_by_cat(x):
    return torch.cat(x.unbind(1), dim=-1)


def _merge_by_stack(x):
    return torch.stack(list(x.transpose(0, 1)), dim=2).flatten(2)


def _merge_features_first(x):
    return x.mT.flatten(1, 2).mT


def _merge_by_permute(x):
    return x.permute(0, 2, 1, 3).reshape(len(x), x.shape[2], -1)


def _merge_by_filling(x):
    B, H, T, Dh = x.shape
    out = x.new_zeros(B, T, H * Dh)
    for h in range(H):
        out[..., h * Dh : (h + 1) * Dh] = x[:, h]
    return out


def _merge_token_by_token(x):
    return torch.stack([x[:, :, t].reshape(len(x), -1) for t in range(x.shape[2])], 1)


def _merge_by_adding(x):
    H, Dh = x.shape[1], x.shape[3]
    places = torch.eye(H * Dh, dtype=x.dtype).view(H, Dh, H * Dh)
    return (x @ places).sum(1)


MERGE = (
    _merge_by_view,
    _merge_by_cat,
    _merge_by_stack,
    _merge_features_first,
    _merge_by_permute,
    _merge_by_filling,
    _merge_token_by_token,
    _merge_by_adding,
)


def _share_by_index(x, H):
    return x[:, torch.arange(H) // (H // x.shape[1])]


def _share_by_expand(x, H):
    B, Hkv, T, Dh = x.shape
    return x[:, :, None].expand(B, Hkv, H // Hkv, T, Dh).reshape(B, H, T, Dh)


def _share_by_stack(x, H):
    return torch.stack([x] * (H // x.shape[1]), dim=2).flatten(1, 2)


def _share_by_repeat(x, H):
    return x.unsqueeze(2).repeat(1, 1, H // x.shape[1], 1, 1).flatten(1, 2)


def _share_by_loops(x, H):
    group = H // x.shape[1]
    return torch.cat([x[:, [g]] for g in range(x.shape[1]) for _ in range(group)], dim=1)


def _share_by_sorting(x, H):
    which = (torch.arange(H) % x.shape[1]).sort().values
    return x.index_select(1, which)


def _share_by_a_product(x, H):
    groups = torch.eye(x.shape[1], dtype=x.dtype).repeat_interleave(H // x.shape[1], 0)
    return torch.einsum("hg,bgtd->bhtd", groups, x)


def _share_only_where_needed(x, H):
    return x if x.shape[1] == H else torch.repeat_interleave(x, H // x.shape[1], -3)


SHARE = (
    _share_by_index,
    _share_by_expand,
    _share_by_stack,
    _share_by_repeat,
    _share_by_loops,
    _share_by_sorting,
    _share_by_a_product,
    _share_only_where_needed,
)
