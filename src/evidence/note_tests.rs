//! Notes of the Go implementation are opened and written byte for byte; what was changed is refused.

use proptest::prelude::*;

use super::*;

const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const PETERS_SEED: &str = "8182850142d5146c8d84f2443330f540880ebf98ee17d9c7d3625";
const PETERS_LINE: &str =
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
