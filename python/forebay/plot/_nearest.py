"""The nearest of many points on the sphere, for every pixel of a map.

scipy's k-d tree finds them where scipy is installed. Without it every pixel is compared with every point, and maps of
many points are coarser, so that it takes seconds all the same.
"""

from __future__ import annotations

import numpy as np

_FAR = 2.5  # times the spacing of points: beyond that the data has a hole
# The spacing at a point is how far its 4th neighbour is: of a grid the next ones are, and of random points, where the
# next one may be anywhere, none of whose voids is as large as _FAR of these then.
_NEIGHBOURS = 4
_COMPARISONS = 1 << 31  # of pixels with points, without scipy
_BLOCK = 1 << 22


def _unit_vectors(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    phi, turn = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(turn), np.cos(phi) * np.sin(turn), np.sin(phi)], axis=-1).astype("f4")


class _Comparison:
    """What scipy's cKDTree gives, by looking at all points."""

    def __init__(self, points: np.ndarray):
        self._points = points

    def query(self, wanted: np.ndarray, k: int, workers: int = 1) -> tuple[np.ndarray, np.ndarray]:
        step = max(1, _BLOCK // len(self._points))
        found = [self._query(wanted[i : i + step], k) for i in range(0, len(wanted), step)]
        distance, index = (np.concatenate(part) for part in zip(*found, strict=True))
        return (distance[:, 0], index[:, 0]) if k == 1 else (distance, index)

    def _query(self, wanted: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        cosine = wanted @ self._points.T
        index = np.empty((len(wanted), k), np.int64)
        for i in range(k):
            index[:, i] = cosine.argmax(axis=1)
            if i + 1 < k:
                np.put_along_axis(cosine, index[:, i : i + 1], -np.inf, axis=1)
        # Not from the cosine, which tells nothing of small distances.
        return np.linalg.norm(wanted[:, None] - self._points[index], axis=2), index


class Nearest:
    """Points by latitude and longitude in degrees; those that are NaN are left out. At least two."""

    def __init__(self, latitude: np.ndarray, longitude: np.ndarray):
        self._known = np.flatnonzero(~np.isnan(latitude) & ~np.isnan(longitude))
        self._points = _unit_vectors(latitude[self._known], longitude[self._known])
        try:
            from scipy.spatial import cKDTree
        except ImportError:
            self._tree, self._most_pixels = _Comparison(self._points), _COMPARISONS // len(self._points)
        else:
            self._tree, self._most_pixels = cKDTree(self._points), None

    def raster(self, width: int, height: int) -> tuple[int, int]:
        """The pixels of a map that is to have width × height of them."""
        if self._most_pixels is None or width * height <= self._most_pixels:
            return width, height
        scale = (self._most_pixels / (width * height)) ** 0.5
        return max(1, int(width * scale)), max(1, int(height * scale))

    def values(self, of_points: np.ndarray, latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
        """The nearest point's value for each pixel of a map, NaN where that is far for the spacing of points there."""
        wanted = _unit_vectors(*np.meshgrid(latitude, longitude, indexing="ij")).reshape(-1, 3)
        distance, found = self._tree.query(wanted, 1, workers=-1)
        near, each = np.unique(found, return_inverse=True)
        neighbours = 1 + min(_NEIGHBOURS, len(self._points) - 1)  # itself is the first
        spacing = self._tree.query(self._points[near], neighbours, workers=-1)[0][:, -1]
        # Points crowd towards the poles of a grid, or lie all in one place there: the next ones are not as near.
        apart = spacing[spacing > 1e-6]
        spacing = np.maximum(spacing, np.median(apart) if apart.size else 2)
        values = np.where(distance > _FAR * spacing[each], np.nan, of_points[self._known[found]])
        return values.reshape(latitude.size, longitude.size)
