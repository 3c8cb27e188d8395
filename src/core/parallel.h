// Runs tasks on several threads; and a lock for many readers and one writer, without starvation.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace watchword {

// Threads that are joined in the destructor (std::jthread is not available everywhere yet).
class Threads {
   public:
    Threads() = default;
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads() {
        for (std::thread& thread : threads_) thread.join();
    }
    template <class... Arguments>
    void start(Arguments&&... arguments) {
        threads_.emplace_back(std::forward<Arguments>(arguments)...);
    }

   private:
    std::vector<std::thread> threads_;
};

// Calls work(task, thread) for every task below `tasks`; rethrows the first exception.
template <class Work>
void parallel_for(std::size_t tasks, unsigned threads, const Work& work) {
    if (threads <= 1 || tasks <= 1) {
        for (std::size_t task = 0; task < tasks; ++task) work(task, 0u);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto run = [&](unsigned thread) {
        try {
            for (std::size_t task; (task = next.fetch_add(1)) < tasks;) work(task, thread);
        } catch (...) {
            const std::lock_guard guard(failure_mutex);
            if (!failure) failure = std::current_exception();
            next = tasks;
        }
    };
    {
        Threads others;
        try {
            for (unsigned thread = 1; thread < threads && thread < tasks; ++thread) {
                others.start(run, thread);
            }
        } catch (const std::system_error&) {
            // The system gives no more threads: those that there are do all the work.
        }
        run(0);
    }
    if (failure) std::rethrow_exception(failure);
}

// Thrown to whoever wants what a failed change has left incomplete.
class IncompleteFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A shared lock. Readers and writers wait at one turnstile, so a waiting writer is delayed only by
// readers that already hold the lock. Once it is poisoned, it throws IncompleteFailure with the
// message given then.
class TurnLock {
   public:
    void lock_shared() {
        const std::lock_guard turn(turnstile_);
        state_.lock_shared();
        if (poison_ == nullptr) return;
        state_.unlock_shared();
        throw IncompleteFailure(poison_);
    }
    void unlock_shared() { state_.unlock_shared(); }
    void lock() {
        const std::lock_guard turn(turnstile_);
        state_.lock();
        if (poison_ == nullptr) return;
        state_.unlock();
        throw IncompleteFailure(poison_);
    }
    void unlock() { state_.unlock(); }
    // Called by a writer that failed halfway, while it holds the lock.
    void poison(const char* message) { poison_ = message; }

   private:
    std::mutex turnstile_;
    std::shared_mutex state_;
    const char* poison_ = nullptr;  // why nobody gets the lock any more
};

}  // namespace watchword
