// All-reduce over two binary trees at once, a half of the vector each, so that a member that is
// inside one tree is a leaf of the other and everybody sends and receives alike (P. Sanders,
// J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35 (2009), doi:10.1016/j.parco.2009.09.001). In each tree sums go up to the
// root and the result comes down again. A half is not cut further: the chunks of a collective are
// what makes a pipeline.
//
// The first tree counts members in order: the parent of m is m with its lowest one moved up by a
// place, or where there is no such member, taken away; 0 is the root. In it all odd members are
// leaves. The second is the same with members counted backwards, where n is even, or shifted by
// one. (Sanders et al. have another root outside of both trees.)
//
// Broadcast and reduce have their root in member 0 and take the first tree alone.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "step_maker.hpp"

namespace tessera::collective {
namespace {

// Steps of a member: from its children, to its parent, from its parent, to its children.
enum TreeStep : std::uint32_t {
  from_left,
  from_right,
  to_parent,
  from_parent,
  to_left,
  to_right,
  tree_steps
};
constexpr std::uint32_t steps_up = 3;

struct TreePlace {
  Member parent = nobody;
  std::array<Member, 2> children = {nobody, nobody};
  bool is_right = false;  // child of its parent
};

std::uint32_t lowest_one(std::uint32_t number) {
  return number & (~number + 1);
}

Member parent_in_order(std::uint32_t size, Member member) {
  const std::uint32_t one = lowest_one(member);
  const Member up = (member ^ one) | one << 1;
  return up < size ? up : member ^ one;
}

// In the tree in order.
TreePlace place_in_order(std::uint32_t size, Member member) {
  TreePlace place;
  // Below member m with lowest one d are those from m - d + 1 to m + d - 1; below 0 are all.
  const std::uint32_t reach = member == 0 ? std::bit_ceil(size) : lowest_one(member);
  if (member != 0) {
    place.parent = parent_in_order(size, member);
    place.is_right = member > place.parent;
    if (reach > 1) {
      place.children[0] = member - reach / 2;
    }
  }
  for (std::uint32_t distance = reach / 2; distance > 0; distance /= 2) {
    if (member + distance < size) {
      place.children[1] = member + distance;
      break;
    }
  }
  return place;
}

// Another numbering for the second tree, and the way back.
Member in_tree(std::uint32_t size, Member member, std::uint32_t tree) {
  return tree == 0 ? member : size % 2 == 0 ? size - 1 - member : (member + size - 1) % size;
}
Member out_of_tree(std::uint32_t size, Member member, std::uint32_t tree) {
  return tree == 0 || size % 2 == 0 ? in_tree(size, member, tree) : (member + 1) % size;
}

class DoubleBinaryTree final : public Algorithm {
 public:
  bool offers(Kind kind) const override {
    return kind == Kind::all_reduce || kind == Kind::barrier || kind == Kind::broadcast ||
           kind == Kind::reduce;
  }
  std::uint32_t lanes(Kind kind) const override { return both_ways(kind) ? 2 : 1; }
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    ensure(offers(kind), "a collective that trees do not offer");
    return size == 1 ? 0 : both_ways(kind) ? std::uint32_t{tree_steps} : steps_up;
  }
  bool in_step() const override { return false; }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t lane) const override {
    check_step(size, member, step, steps(kind, size));
    ensure(lane < lanes(kind), "a lane that is not there");
    const TreePlace place = place_in_order(size, in_tree(size, member, lane));
    // Of a broadcast the first step here is the one from the parent.
    const std::uint32_t shift = kind == Kind::broadcast ? steps_up : 0;
    const auto act = static_cast<TreeStep>(step + shift);
    const auto other = [&](Member in_order) { return out_of_tree(size, in_order, lane); };
    StepMaker maker(kind, size, bytes, step);
    const auto receive = [&](Member from, bool reduces) {
      if (from != nobody) {
        maker.receive(other(from), maker.all(), reduces);
      }
    };
    const auto send = [&](Member to, std::uint32_t taken_in) {
      if (to != nobody) {
        maker.send(other(to), maker.all()).taken_in(taken_in - shift);
      }
    };
    switch (act) {
      case from_left:
        receive(place.children[0], true);
        break;
      case from_right:  // either child may be first
        receive(place.children[1], true);
        maker.after(0);
        break;
      case to_parent:
        send(place.parent, place.is_right ? from_right : from_left);
        break;
      case from_parent:
        receive(place.parent, false);
        break;
      case to_left:
        send(place.children[0], from_parent);
        break;
      case to_right:
        send(place.children[1], from_parent);
        break;
      default:
        break;
    }
    return maker.step();
  }

 private:
  static bool both_ways(Kind kind) { return kind == Kind::all_reduce || kind == Kind::barrier; }
};

const Registration double_binary_tree_registration(
    algorithms(),
    {"double-binary-tree",
     "all-reduce up and down two binary trees at once, each with half of the vector; also "
     "broadcast, reduce and barrier",
     {}},
    [](const AlgorithmOptions&) { return std::make_unique<DoubleBinaryTree>(); });

}  // namespace
}  // namespace tessera::collective
