//! The inner loops, compiled for each instruction set; the only module with `unsafe` code.
//!
//! - [`Fill`] makes a block of draws: [`Draws::fill`], compiled for wider vectors.
//! - [`walk`] takes steps of two runs, with any learner; its reference is [`emab::Environment::play`].
//! - [`feedbal`] is FeedBAL in that walk; its reference is [`emab::learners::FeedBal`].
//!
//! Tests compare each with its reference bit by bit, at every level of the machine.

#![allow(unsafe_code)]

pub(crate) mod feedbal;
pub(crate) mod step_loop;

use emab::rng::{Block, Draws};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The baseline of the target.
    Base,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Work whose code is inlined (`inline(always)`) into a function compiled for a level.
pub(crate) trait Work {
    type Out;
    fn run(self) -> Self::Out;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi1,bmi2")]
fn avx512<W: Work>(work: W) -> W::Out {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn avx2<W: Work>(work: W) -> W::Out {
    work.run()
}

impl Level {
    /// The levels of this machine, the best last.
    pub(crate) fn all() -> Vec<Level> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Base];
        #[cfg(target_arch = "x86_64")]
        {
            let has_bmi = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
            if has_bmi && is_x86_feature_detected!("avx2") {
                levels.push(Level::Avx2);
            }
            let has_wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if has_bmi && has_wide {
                levels.push(Level::Avx512);
            }
        }
        levels
    }

    /// The best level of this machine.
    pub(crate) fn best() -> Level {
        Level::all().pop().unwrap_or(Level::Base)
    }

    pub(crate) fn run<W: Work>(self, work: W) -> W::Out {
        match self {
            Level::Base => work.run(),
            // SAFETY: levels come from `Level::all`, which contains only levels that the machine supports.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2(work) },
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512(work) },
        }
    }
}

/// Makes the next block of draws.
pub(crate) struct Fill<'a>(pub(crate) &'a mut Draws, pub(crate) &'a mut Block);

impl Work for Fill<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.0.fill(self.1);
    }
}
