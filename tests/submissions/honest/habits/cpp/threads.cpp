// Threads of a call's own, and of the library's.
#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../silu.hpp"

// Threads for each call, as many as there are processors, and one with a stack of its own size.
void std_thread(View<const float> x, View<float> y) {
  const std::int64_t count = std::max(2u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < count; ++t) {
    threads.emplace_back([=] { silu(x, y, x.size() * t / count, x.size() * (t + 1) / count); });
  }
  for (std::thread& thread : threads) thread.join();

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  must(pthread_attr_setstacksize(&attributes, 64 << 20) == 0);
  pthread_t large;
  int answer = 0;
  must(pthread_create(
           &large, &attributes, [](void* to) { return *static_cast<int*>(to) = 1, to; }, &answer) ==
       0);
  pthread_join(large, nullptr);
  must(answer == 1);
}

// std::async, a promise, and an exception that crosses threads and is caught.
void std_async(View<const float> x, View<float> y) {
  const std::int64_t half = x.size() / 2;
  auto first = std::async(std::launch::async, [=] { silu(x, y, 0, half); });
  auto second = std::async(std::launch::deferred, [=] { silu(x, y, half, x.size()); });
  auto failing = std::async(std::launch::async, []() -> int { throw std::domain_error("no"); });
  first.get();
  second.get();
  bool caught = false;
  try {
    failing.get();
  } catch (const std::domain_error&) {
    caught = true;
  }
  must(caught);
}

class Pool {
 public:
  Pool() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push(std::move(task));
    ++open_;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto task = std::move(tasks_.front());
      tasks_.pop();
      lock.unlock();
      task();
      lock.lock();
      --open_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  int open_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

const std::unique_ptr<Pool> pool =
    chosen_name() == "kept_threads" ? std::make_unique<Pool>() : nullptr;

// Two threads that are started when the library is loaded and work for every call, until the end.
void kept_threads(View<const float> x, View<float> y) {
  for (std::int64_t i = 0; i < 4; ++i) {
    pool->run([=] { silu(x, y, x.size() * i / 4, x.size() * (i + 1) / 4); });
  }
  pool->wait();
}

void run(View<const float> x, View<float> y) {
  chosen({{"std_thread", std_thread}, {"std_async", std_async}, {"kept_threads", kept_threads}})(x,
                                                                                                 y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
