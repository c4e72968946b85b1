// Random delays between meetings, from a seeded generator, so that ranks arrive in many orders.
#pragma once

#include <chrono>
#include <random>
#include <thread>

/// One rank's delays. Mostly none, so that ranks race; sometimes a yield, a spin or a sleep that makes peers block.
class delays {
  public:
    delays(unsigned seed, int rank) : random_(seed * 7919U + static_cast<unsigned>(rank)) {}

    void operator()()
    {
        const auto choice = random_() % 64;
        if (choice == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
        } else if (choice < 4) {
            std::this_thread::yield();
        } else if (choice < 12) {
            for (volatile auto left = random_() % 1000; left > 0;) { left = left - 1; }
        }
    }

  private:
    std::minstd_rand random_;
};
