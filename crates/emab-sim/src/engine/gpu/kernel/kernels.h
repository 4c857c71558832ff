// The kernels. A file that includes this one defines KERNEL(name, player) before.
KERNEL(feedbal_one_action, OneActionPlayer)
KERNEL(feedbal_shared, Player<FeedBal<SharedTable>>)
KERNEL(feedbal, Player<FeedBal<AnyTable>>)
KERNEL(feedbal_bernstein, Player<FeedBalBernstein<AnyTable>>)
KERNEL(policy, Player<Policy<AnyTable>>)
KERNEL(random, Player<Random<AnyTable>>)
KERNEL(sequence_ucb, Player<SequenceUcb<AnyTable>>)
KERNEL(thompson, Player<Thompson<AnyTable>>)
