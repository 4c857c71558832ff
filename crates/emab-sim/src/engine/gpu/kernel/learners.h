// Learners: each chooses by row and learns at every step what the episode reveals at its end. A choice reads entries of its own pair and
// of pairs of the next step alone, so nothing that is learned is read before the episode ends.
#pragma once
#include "draws.h"
#include "job.h"
#include "normal.h"
#include "tables.h"

DEVICE const ActionRecord* action_record(const RowRecord* row, uint32_t a) { return (const ActionRecord*)(row + 1) + a; }

// Counts of visits and of actions, which every learner needs for the regret.
template <class Table> struct Counter {
    using Entries = Table;
    Table table;
    uint32_t actions;

    DEVICE Counter(const Job& job, uint8_t* shared, uint32_t thread, uint32_t block, uint32_t threads)
        : table(job, shared, thread, block, threads), actions(job.actions) {}
    DEVICE uint32_t count(uint32_t entry, uint32_t column) const { return *table.count_at(entry, column); }
    DEVICE void clear(const Job&, uint32_t entry, uint32_t column) { *table.count_at(entry, column) = 0; }
    DEVICE uint32_t add(uint32_t entry, uint32_t column) {
        uint32_t before = *table.count_at(entry, column);
        *table.count_at(entry, column) = before + 1;
        return before;
    }
};

// FeedBAL: the sum and the count of each entry; the index is computed from the tables of reciprocals and widths. The entry of an
// action that is not allowed has the sum minus infinity and the count 0: its index is no number and never the largest.
template <class Table> struct FeedBal : Counter<Table> {
    Stream stream;
    double chosen_sum, taken_sum, stop_sum;
    uint32_t chosen_count, taken_count, stop_count;

    using Counter<Table>::Counter;
    static constexpr bool SUMS = true;

    DEVICE void begin_run(const Job& job, uint64_t run) {
        taken_sum = 0;
        taken_count = 0;
        if (job.ties_random) stream.restart(job.seed, run, ROLE_LEARNER);
    }
    DEVICE double index(const Job& job, uint32_t entry, uint32_t a, double& sum, uint32_t& count) const {
        sum = *this->table.sum_at(entry, a);
        count = *this->table.count_at(entry, a);
        double2 value = load_two(job.action_index + count);
        return sum * value.x + value.y;
    }
    DEVICE uint32_t choose(const Job& job, const RowRecord*, uint32_t entry, uint32_t) {
        if (entry == NO_ENTRY) return this->actions;
        stop_sum = *this->table.sum_at(entry, this->actions);
        stop_count = *this->table.count_at(entry, this->actions);
        double2 value = load_two(job.stop_index + stop_count);
        double stop = stop_sum * value.x + value.y;
        double largest = -from_bits(0x7ff0000000000000ull);
        uint32_t chosen = 0;
        chosen_sum = 0;
        chosen_count = 0;
        for (uint32_t a = 0; a < this->actions; a++) {
            double sum;
            uint32_t count;
            double other = index(job, entry, a, sum, count);
            bool larger = other > largest;
            largest = larger ? other : largest;
            chosen = larger ? a : chosen;
            chosen_sum = larger ? sum : chosen_sum;
            chosen_count = larger ? count : chosen_count;
        }
        if (!(largest > stop)) return this->actions;
        if (job.ties_random) chosen = draw_tie(job, entry, largest, chosen);
        return chosen;
    }
    DEVICE uint32_t draw_tie(const Job& job, uint32_t entry, double largest, uint32_t first) {
        double sum;
        uint32_t count, tied = 0;
        for (uint32_t a = 0; a < this->actions; a++) tied += index(job, entry, a, sum, count) == largest;
        uint32_t left = tied > 1 ? stream.below(tied) : 0, chosen = first;
        for (uint32_t a = 0; a < this->actions; a++) {
            if (index(job, entry, a, sum, count) == largest && left-- == 0) {
                chosen = a;
                chosen_sum = sum;
                chosen_count = count;
            }
        }
        return chosen;
    }
    // Returns how often the row was visited before; not 0 if it has no entries.
    DEVICE uint32_t reveal(const Job&, uint32_t entry, uint32_t taken, double reward, double gain) {
        if (taken != NO_ENTRY) {
            *this->table.sum_at(taken, 0) = taken_sum + gain;
            *this->table.count_at(taken, 0) = taken_count + 1;
        }
        if (entry == NO_ENTRY) return 1;
        *this->table.sum_at(entry, this->actions) = stop_sum + reward;
        *this->table.count_at(entry, this->actions) = stop_count + 1;
        return stop_count;
    }
    DEVICE void advance(const Job&, bool, double, double) {
        taken_sum = chosen_sum;
        taken_count = chosen_count;
    }
};

// FeedBAL with `width=bernstein`, whose indices also depend on the rewards of the rows that can follow an action. A transition is an
// action and such a row. After the sums of the entries come those of costs, likewise by entry; after their counts those of transitions.
template <class Table> struct FeedBalBernstein : Counter<Table> {
    double cost; // of the action before this step

    using Counter<Table>::Counter;
    static constexpr bool SUMS = true;

    DEVICE double* cost_at(const Job& job, uint32_t entry) const { return this->table.sum_at(job.entries, entry); }
    DEVICE uint32_t* followed_at(const Job& job, uint32_t transition) const { return this->table.count_at(job.entries, transition); }

    DEVICE void begin_run(const Job&, uint64_t) { cost = 0; }
    DEVICE void clear(const Job& job, uint32_t entry, uint32_t column) {
        Counter<Table>::clear(job, entry, column);
        *cost_at(job, entry + column) = 0;
        uint32_t end = job.transition_at[entry + column + 1];
        for (uint32_t i = job.transition_at[entry + column]; i < end; i++) *followed_at(job, i) = 0;
    }
    DEVICE uint32_t choose(const Job& job, const RowRecord* row, uint32_t entry, uint32_t) {
        uint32_t stops = entry + this->actions, count = this->count(stops, 0), chosen = this->actions;
        if (count == 0) return chosen;
        double largest = mean(*this->table.sum_at(stops, 0), count) + load_one(job.reward_width + count);
        for (uint32_t a = 0; a < this->actions; a++) {
            if (!action_record(row, a)->allowed) continue;
            double other = index(job, entry + a);
            bool larger = other > largest;
            largest = larger ? other : largest;
            chosen = larger ? a : chosen;
        }
        return chosen;
    }
    DEVICE double mean(double sum, uint32_t count) const { return sum / (double)count; }
    DEVICE double index(const Job& job, uint32_t entry) const {
        const double infinity = from_bits(0x7ff0000000000000ull);
        uint32_t count = this->count(entry, 0);
        if (count == 0) return infinity;
        double n = (double)count;
        double least = infinity, most = -infinity, origin = 0, next = 0, second = 0, unsure = 0, excess = 0;
        bool has_origin = false;
        uint32_t first = job.transition_at[entry], end = job.transition_at[entry + 1];
        for (uint32_t i = first; i < end; i++) {
            uint32_t to = job.transition_to[i], visits = to == NO_ENTRY ? 0 : this->count(to, 0), followed = *followed_at(job, i);
            excess += load_one(job.log_gamma + 1) - load_one(job.log_gamma + 2 * followed + 1);
            excess += load_one(job.n_log_n + followed);
            if (visits == 0) {
                least = -infinity;
                most = infinity;
                continue;
            }
            double reward = mean(*this->table.sum_at(to, 0), visits), width = load_one(job.reward_width + visits);
            least = minimum(least, reward - width);
            most = maximum(most, reward + width);
            // Squares relative to one of the rewards, to avoid cancellation.
            if (!has_origin) origin = reward;
            has_origin = true;
            double p = (double)followed / n, off = reward - origin;
            next += p * reward;
            second += p * off * off;
            unsure += p * width * width;
        }
        double2 widths = load_two(job.action_width + count);
        double width = widths.y;
        if (end - first > 1) {
            uint32_t halves = end - first;
            excess = excess - load_one(job.n_log_n + count) + load_one(job.log_gamma + 2 * count + halves) - load_one(job.log_gamma + halves);
            double spread = minimum(most - least, job.max_spread);
            double b = (job.log_bounds + excess) / n;
            double center = next - origin;
            double deviation = square_root(maximum(second - center * center, 0.0)) + square_root(unsure);
            width += square_root(2.0 * b) * deviation + 7.0 / 3.0 * spread * b;
        }
        double at_best = most - mean(*cost_at(job, entry), count) + widths.x;
        return minimum(mean(*this->table.sum_at(entry, 0), count) + width, at_best);
    }
    DEVICE uint32_t reveal(const Job& job, uint32_t entry, uint32_t taken, double reward, double gain) {
        if (taken != NO_ENTRY) {
            *this->table.sum_at(taken, 0) += gain;
            *cost_at(job, taken) += cost;
            this->add(taken, 0);
            uint32_t i = job.transition_at[taken], end = job.transition_at[taken + 1];
            while (i < end && job.transition_to[i] != entry + this->actions) i++;
            if (i < end) *followed_at(job, i) += 1;
        }
        *this->table.sum_at(entry, this->actions) += reward;
        return this->add(entry, this->actions);
    }
    DEVICE void advance(const Job&, bool, double paid, double) { cost = -paid; }
};

// A fixed policy.
template <class Table> struct Policy : Counter<Table> {
    using Counter<Table>::Counter;
    static constexpr bool SUMS = false;
    DEVICE void begin_run(const Job&, uint64_t) {}
    DEVICE uint32_t choose(const Job& job, const RowRecord*, uint32_t, uint32_t number) { return job.policy[number & ~LAST_STEP]; }
    DEVICE uint32_t reveal(const Job&, uint32_t entry, uint32_t taken, double, double) {
        if (taken != NO_ENTRY) this->add(taken, 0);
        return entry == NO_ENTRY ? 1 : this->add(entry, this->actions);
    }
    DEVICE void advance(const Job&, bool, double, double) {}
};

// The random learner: an allowed action or `stop`.
template <class Table> struct Random : Policy<Table> {
    Stream stream;
    using Policy<Table>::Policy;
    DEVICE void begin_run(const Job& job, uint64_t run) { stream.restart(job.seed, run, ROLE_LEARNER); }
    DEVICE uint32_t choose(const Job&, const RowRecord* row, uint32_t, uint32_t number) {
        if (number & LAST_STEP) return this->actions;
        uint32_t allowed = 0;
        for (uint32_t a = 0; a < this->actions; a++) allowed += action_record(row, a)->allowed;
        uint32_t left = stream.below(allowed + 1);
        for (uint32_t a = 0; a < this->actions; a++) {
            if (action_record(row, a)->allowed && left-- == 0) return a;
        }
        return this->actions;
    }
};

// UCB1 over sequences of actions, with or without updates of all prefixes of the sequence.
template <class Table> struct SequenceUcb : Policy<Table> {
    uint32_t chosen, untried, episodes, steps;
    const uint32_t* plan; // of the chosen arm: the arms of its prefixes, itself included, then its actions
    uint32_t length;
    bool begins;
    double paid, reward;
    using Policy<Table>::Policy;

    DEVICE void begin_run(const Job& job, uint64_t) {
        chosen = untried = episodes = 0;
        begins = true;
        for (uint32_t arm = 0; arm < job.arms; arm++) {
            *this->table.sum_at(0, arm) = 0;
            *this->table.count_at(job.entries, arm) = 0;
        }
    }
    DEVICE uint32_t arm_count(const Job& job, uint32_t arm) const { return *this->table.count_at(job.entries, arm); }
    DEVICE uint32_t choose_arm(const Job& job) {
        while (untried < job.arms && arm_count(job, untried) > 0) untried++;
        if (untried < job.arms) return untried;
        double radius = job.radius[episodes], largest = -from_bits(0x7ff0000000000000ull);
        uint32_t best = 0;
        for (uint32_t arm = 0; arm < job.arms; arm++) {
            double2 value = load_two(job.by_count + arm_count(job, arm));
            double index = *this->table.sum_at(0, arm) * value.x + radius * value.y;
            bool larger = index > largest;
            largest = larger ? index : largest;
            best = larger ? arm : best;
        }
        return best;
    }
    DEVICE void observe(const Job& job, uint32_t arm, double gain) {
        *this->table.count_at(job.entries, arm) += 1;
        *this->table.sum_at(0, arm) += gain;
    }
    DEVICE uint32_t choose(const Job& job, const RowRecord* row, uint32_t, uint32_t) {
        if (begins) {
            chosen = choose_arm(job);
            plan = job.plans + job.plan_at[chosen];
            length = (job.plan_at[chosen + 1] - job.plan_at[chosen] - 1) / 2;
            steps = 0;
            paid = 0;
        }
        if (steps >= length) return this->actions;
        uint32_t a = plan[length + 1 + steps];
        return action_record(row, a)->allowed ? a : this->actions;
    }
    DEVICE uint32_t reveal(const Job& job, uint32_t entry, uint32_t taken, double reward_, double gain) {
        reward = reward_;
        return Policy<Table>::reveal(job, entry, taken, reward_, gain);
    }
    DEVICE void advance(const Job& job, bool stops, double paid_, double) {
        double gain = reward + paid;
        begins = stops;
        if (stops) {
            episodes++;
            observe(job, chosen, gain);
            if (steps < length && job.virtual_updates) observe(job, plan[steps], gain);
        } else {
            if (job.virtual_updates) observe(job, plan[steps], gain);
            steps++;
            paid += paid_;
        }
    }
};

// Gaussian Thompson sampling on FeedBAL's entries.
template <class Table> struct Thompson : FeedBal<Table> {
    using FeedBal<Table>::FeedBal;

    DEVICE void begin_run(const Job& job, uint64_t run) {
        this->taken_sum = 0;
        this->taken_count = 0;
        this->stream.restart(job.seed, run, ROLE_LEARNER);
    }
    DEVICE double draw(const Job& job, double noise, double sum, uint32_t count) {
        double mean = job.prior_mean, variance = job.prior_variance;
        double weight = noise + (double)count * variance;
        if (count != 0 && weight != 0.0) {
            mean = (noise * mean + variance * sum) / weight;
            variance = noise * variance / weight;
        }
        return mean + square_root(variance) * normal(job.ziggurat, this->stream);
    }
    DEVICE uint32_t choose(const Job& job, const RowRecord* row, uint32_t entry, uint32_t number) {
        this->chosen_sum = 0;
        this->chosen_count = 0;
        if (entry == NO_ENTRY && number & LAST_STEP) return this->actions;
        entry = entry == NO_ENTRY ? 0 : entry;
        this->stop_sum = *this->table.sum_at(entry, this->actions);
        this->stop_count = *this->table.count_at(entry, this->actions);
        if (number & LAST_STEP) return this->actions;
        double infinity = from_bits(0x7ff0000000000000ull);
        double largest = draw(job, job.noise_stop, this->stop_sum, this->stop_count);
        largest = largest > -infinity ? largest : -infinity;
        uint32_t chosen = this->actions;
        for (uint32_t a = 0; a < this->actions; a++) {
            if (!action_record(row, a)->allowed) continue;
            double sum = *this->table.sum_at(entry, a);
            uint32_t count = *this->table.count_at(entry, a);
            double value = draw(job, job.noise_action, sum, count);
            if (value > largest) {
                largest = value;
                chosen = a;
                this->chosen_sum = sum;
                this->chosen_count = count;
            }
        }
        return chosen;
    }
};
