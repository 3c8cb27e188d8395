// Running tasks on a few threads, and a lock for many readers and one writer that lets nobody
// starve.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

namespace watchword {

// Threads that are waited for whatever happens (std::jthread is not everywhere yet).
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

// Calls work(task, thread) for every task below `tasks`; the first exception is thrown again here.
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
        for (unsigned thread = 1; thread < threads && thread < tasks; ++thread) {
            others.start(run, thread);
        }
        run(0);
    }
    if (failure) std::rethrow_exception(failure);
}

// Readers share, a writer is alone; both wait at one turnstile, so a writer that waits is passed by
// at most the readers already inside.
class TurnLock {
   public:
    void lock_shared() {
        const std::lock_guard turn(turnstile_);
        state_.lock_shared();
    }
    void unlock_shared() { state_.unlock_shared(); }
    void lock() {
        const std::lock_guard turn(turnstile_);
        state_.lock();
    }
    void unlock() { state_.unlock(); }

   private:
    std::mutex turnstile_;
    std::shared_mutex state_;
};

}  // namespace watchword
