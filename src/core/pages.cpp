#include "pages.h"

// Sanitizers check only memory from the standard allocator.
#if defined(__SANITIZE_ADDRESS__)
#define WATCHWORD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHWORD_SANITIZED 1
#endif
#endif

#if defined(__linux__) && !defined(WATCHWORD_SANITIZED)
#define WATCHWORD_HUGE_PAGES 1
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#endif

namespace watchword {

#if defined(WATCHWORD_HUGE_PAGES)

namespace {

constexpr std::size_t kPage = std::size_t{1} << 21;
constexpr std::size_t kUnit = std::size_t{1} << 10;   // what sizes are multiples of
constexpr std::size_t kLeast = std::size_t{1} << 14;  // less: the standard allocator

std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

using Address = std::uintptr_t;

// Whole pages, to begin where a huge one does.
Address map_pages(std::size_t bytes) {
    void* const memory =
        mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    const auto mapped = reinterpret_cast<Address>(memory);
    const Address begin = round_up(mapped, kPage);
    if (begin > mapped) munmap(memory, begin - mapped);
    munmap(reinterpret_cast<void*>(begin + bytes), mapped + kPage - begin);
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);  // may be refused
    return begin;
}

// An allocator in which many small tables share a page. Free ranges are indexed by address, to
// merge neighbours, and by size, to find the smallest that fits.
//
// The first access to a huge page may take milliseconds, where the host of a virtual machine has to
// find the memory. A large pool therefore keeps some pages ready, which a thread has touched.
class Pool {
   public:
    Pool() {
        // After fork, the child must not find the lock held by a thread that it does not have, nor
        // wait for pages from one.
        pthread_atfork([] { pool().mutex_.lock(); }, [] { pool().mutex_.unlock(); },
                       [] {
                           pool().preparing_ = false;
                           pool().mutex_.unlock();
                       });
    }

    static Pool& pool() {
        // Never destroyed: models may outlive other static objects.
        static Pool* const only = std::make_unique<Pool>().release();
        return *only;
    }

    void* take(std::size_t bytes) {
        const std::lock_guard guard(mutex_);
        auto found = by_size_.lower_bound({bytes, 0});
        if (found == by_size_.end()) {
            const std::size_t mapped = round_up(bytes, kPage);
            add_mapped(map_pages(mapped), mapped);
            found = by_size_.lower_bound({bytes, 0});
        }
        const auto [size, begin] = *found;
        remove_free(begin, size);
        if (size > bytes) add_free(begin + bytes, size - bytes);
        if (!preparing_ && free_pages_ * 2 < ready_pages()) start_preparing();
        return reinterpret_cast<void*>(begin);
    }

    void give_back(void* memory, std::size_t bytes) {
        const std::lock_guard guard(mutex_);
        auto begin = reinterpret_cast<Address>(memory);
        Address end = begin + bytes;
        const auto next = by_address_.lower_bound(begin);
        if (next != by_address_.begin()) {
            const auto [before, size] = *std::prev(next);
            if (before + size == begin) {
                remove_free(before, size);
                begin = before;
            }
        }
        if (next != by_address_.end() && next->first == end) {
            end += next->second;
            remove_free(next->first, next->second);
        }
        add_free(begin, end - begin);
        while (free_pages_ > ready_pages() * 2) unmap(free_pages_ - ready_pages() * 2);
    }

   private:
    // The number of pages to keep ready: one for every 64 that are mapped, from 64 MB on.
    std::size_t ready_pages() const { return (mapped_pages_ + 32) / 64; }

    static std::size_t pages_in(Address begin, std::size_t bytes) {
        const Address first = round_up(begin, kPage), last = (begin + bytes) / kPage * kPage;
        return first < last ? (last - first) / kPage : 0;
    }
    void add_mapped(Address begin, std::size_t bytes) {
        add_free(begin, bytes);
        mapped_pages_ += bytes / kPage;
    }
    void add_free(Address begin, std::size_t bytes) {
        by_address_.emplace(begin, bytes);
        by_size_.emplace(bytes, begin);
        free_pages_ += pages_in(begin, bytes);
    }
    void remove_free(Address begin, std::size_t bytes) {
        by_address_.erase(begin);
        by_size_.erase({bytes, begin});
        free_pages_ -= pages_in(begin, bytes);
    }

    // Gives whole pages of one range back to the system, at most so many.
    void unmap(std::size_t most) {
        const auto with_pages = [](const auto& range) {
            return pages_in(range.second, range.first) > 0;
        };
        const auto found = std::find_if(by_size_.rbegin(), by_size_.rend(), with_pages);
        const auto [bytes, begin] = *found;
        const Address end = begin + bytes, last = end / kPage * kPage;
        const std::size_t pages = std::min(most, pages_in(begin, bytes));
        const Address first = last - pages * kPage;
        remove_free(begin, bytes);
        munmap(reinterpret_cast<void*>(first), last - first);
        mapped_pages_ -= pages;
        if (begin < first) add_free(begin, first - begin);
        if (last < end) add_free(last, end - last);
    }

    void start_preparing() {
        // Signals are for the threads of the program.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            std::thread([this, pages = ready_pages()] { prepare(pages); }).detach();
            preparing_ = true;
        } catch (const std::exception&) {
            // No thread or memory to be had: pages are touched when they are used.
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void prepare(std::size_t pages) noexcept {
        try {
            const Address begin = map_pages(pages * kPage);
            for (std::size_t page = 0; page < pages; ++page) {
                *reinterpret_cast<volatile char*>(begin + page * kPage) = 0;
            }
            const std::lock_guard guard(mutex_);
            add_mapped(begin, pages * kPage);
            preparing_ = false;
        } catch (const std::bad_alloc&) {
            const std::lock_guard guard(mutex_);
            preparing_ = false;
        }
    }

    std::mutex mutex_;
    std::map<Address, std::size_t> by_address_;
    std::set<std::pair<std::size_t, Address>> by_size_;
    std::size_t mapped_pages_ = 0;
    std::size_t free_pages_ = 0;  // whole ones
    bool preparing_ = false;
};

}  // namespace

std::size_t usable_bytes(std::size_t bytes) {
    return bytes < kLeast ? bytes : round_up(bytes, kUnit);
}

void* allocate_pages(std::size_t bytes) {
    return bytes < kLeast ? ::operator new(bytes) : Pool::pool().take(usable_bytes(bytes));
}

void release_pages(void* memory, std::size_t bytes) noexcept {
    if (bytes < kLeast) return ::operator delete(memory);
    try {
        Pool::pool().give_back(memory, usable_bytes(bytes));
    } catch (const std::bad_alloc&) {
        // No memory to record the free range: it stays unused.
    }
}

#else

std::size_t usable_bytes(std::size_t bytes) { return bytes; }
void* allocate_pages(std::size_t bytes) { return ::operator new(bytes); }
void release_pages(void* memory, std::size_t) noexcept { ::operator delete(memory); }

#endif

}  // namespace watchword
