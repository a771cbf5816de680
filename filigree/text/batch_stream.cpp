#include "filigree/text/batch_stream.h"

#include <bit>

#include "filigree/base/error.h"
#include "filigree/base/hash.h"
#include "filigree/base/random.h"

namespace filigree::text {

BatchStream::BatchStream(PairStore store, const std::vector<double>& weights,
                         const BatchOptions& options, SubwordSampling sampling)
    : store_(std::move(store)), options_(options), sampling_(std::move(sampling)) {
  if (weights.size() != store_.corpora().size()) {
    throw Error("there are {} corpora but {} weights", store_.corpora().size(), weights.size());
  }
  int64_t begin = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t end = begin + store_.corpora()[i].kept;
    parts_.push_back({begin, end, weights[i]});
    begin = end;
  }
}

uint64_t BatchStream::fingerprint() const {
  Hasher hasher;
  hasher.update(store_.fingerprint());
  for (const CorpusPart& part : parts_) hasher.update(std::bit_cast<uint64_t>(part.weight));
  hasher.update(static_cast<uint64_t>(options_.batch_tokens));
  return hasher.digest();
}

const Batches& BatchStream::batches_of(int64_t epoch) {
  if (epoch != epoch_) {
    ahead_ = {};
    batches_ = {};
    batches_ = make_batches(store_.lengths(), parts_, options_, epoch);
    if (batches_.size() == 0) {
      throw Error("epoch {} has no pair; give some corpus a weight of 1 or more", epoch + 1);
    }
    epoch_ = epoch;
  }
  return batches_;
}

ParallelCorpus BatchStream::load(int64_t number) const {
  const uint64_t key =
      combine(combine(options_.seed, static_cast<uint64_t>(epoch_)), static_cast<uint64_t>(number));
  ParallelCorpus batch;
  std::vector<int32_t> source, target;
  uint64_t place = 0;
  for (const int32_t pair : batches_[number]) {
    store_.read(pair, source, target);
    if (sampling_.source) source = sampling_.source->sample(source, combine(key, place));
    if (sampling_.target) target = sampling_.target->sample(target, combine(key, place + 1));
    batch.add(source, target);
    place += 2;
  }
  return batch;
}

ParallelCorpus BatchStream::batch(int64_t epoch, int64_t number) {
  const int64_t size = batches_of(epoch).size();
  if (number < 0 || number >= size) {
    throw Error("epoch {} has {} batches, there is no batch {}", epoch + 1, size, number + 1);
  }
  const bool ready = ahead_.valid() && ahead_number_ == number;
  ParallelCorpus batch = ready ? ahead_.get() : load(number);
  if (number + 1 < size) {
    ahead_number_ = number + 1;
    ahead_ = std::async(std::launch::async, [this, number] { return load(number + 1); });
  }
  return batch;
}

}  // namespace filigree::text
