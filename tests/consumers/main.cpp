// A program of somebody else's that uses plait.
#include <plait/core/dtype.hpp>

#include <iostream>
#include <thread>

int main()
{
    std::thread([] {
        std::cout << plait::name_of(plait::dtype::f32) << " takes " << plait::size_of(plait::dtype::f32) << " bytes\n";
    }).join();
}
