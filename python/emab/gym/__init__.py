"""Problems as Gymnasium environments, and tabular Gymnasium environments as problems.

>>> import gymnasium, emab.gym
>>> env = gymnasium.make("emab/Resource-v0")
>>> observation, info = env.reset(seed=1)
>>> observation, info["action_mask"]  # step 1, state 0; `cont` and `stop` are allowed
(array([1, 0]), array([1, 1], dtype=int8))
>>> observation, reward, terminated, truncated, info = env.step(0)  # reward: minus the cost
>>> observation, reward, terminated, truncated, info = env.step(1)  # `stop`: the terminal reward
>>> terminated, len(info["rewards"])
(True, 2)
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as error:
    raise ImportError("emab.gym needs Gymnasium: pip install emab[gym]") from error

from emab.gym._env import Env
from emab.gym._from_gym import from_gym
from emab.gym._register import make, make_vec, register
from emab.gym._vector import VectorEnv

register()

__all__ = ["Env", "VectorEnv", "from_gym", "make", "make_vec"]
