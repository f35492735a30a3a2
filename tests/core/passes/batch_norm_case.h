// Constants of a BatchNormalization of four channels, for the texts of graphs.
#pragma once

namespace poprt::test {

inline constexpr const char* kBatchNorm = R"(
    const %scale : f32[4] = [1.5, 0.5, -1.0, 2.0]
    const %shift : f32[4] = [0.1, 0.2, 0.3, 0.4]
    const %mean : f32[4] = [0.5, -0.5, 0.25, 1.0]
    const %var : f32[4] = [1.0, 2.0, 0.5, 0.25]
)";

}  // namespace poprt::test
