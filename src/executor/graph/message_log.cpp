#include "graph/message_log.hpp"

#include "tessera/core/error.hpp"

namespace tessera::executor {

void GraphMessageLog::send(pdes::Context& context, EntityId target, const MessageId& id,
                           Bytes bytes) const {
  if (!is_on_) {
    return;
  }
  const Note note{id.word, bytes.count(), context.now()};
  if (target == context.self()) {
    context.send_self(SimTime::zero(), note_, note, id.tag);
  } else {
    context.send(target, setup_.message_time(context.self(), target, Bytes(0)), note_, note,
                 id.tag);
  }
}

void GraphMessageLog::hear(const pdes::Context& context, UnreportedById& all,
                           const pdes::Event& event) const {
  const auto note = event.as<Note>();
  const bool of_collective = is_of_collective(note.word);
  const MessageId id{note.word, of_collective ? 0 : event.source.value(), event.tag};
  all[id].sent.push_back({event.source, 0, note.bytes, note.sent});
  report(context, all, id);
}

void GraphMessageLog::arrive(const pdes::Context& context, UnreportedById& all,
                             const MessageId& id) const {
  if (is_on_) {
    all[id].arrived.push_back(context.now());
  }
}

void GraphMessageLog::take(const pdes::Context& context, UnreportedById& all,
                           const MessageId& id) const {
  if (!is_on_) {
    return;
  }
  UnreportedMessages& messages = all[id];
  ensure(!messages.arrived.empty(), "a message that is taken has come");
  messages.taken.push_back({messages.arrived.front(), context.now()});
  messages.arrived.erase(messages.arrived.begin());
  report(context, all, id);
}

void GraphMessageLog::forget(UnreportedById& all, const MessageId& id) const {
  if (!is_on_) {
    return;
  }
  const auto found = all.find(id);
  ensure(found != all.end() && !found->second.arrived.empty(), "a message that is taken has come");
  found->second.arrived.erase(found->second.arrived.begin());
  if (found->second.empty()) {
    all.erase(found);
  }
}

void GraphMessageLog::report(const pdes::Context& context, UnreportedById& all,
                             const MessageId& id) const {
  const auto found = all.find(id);
  UnreportedMessages& messages = found->second;
  if (messages.sent.empty() || messages.taken.empty()) {
    return;
  }
  const UnreportedMessages::Sent& sent = messages.sent.front();
  const UnreportedMessages::Taken& taken = messages.taken.front();
  setup_.observer->on_message(
      {sent.source, context.self(),
       is_of_collective(id.word) ? plan::Traffic::collective : plan::Traffic::message,
       Bytes(sent.bytes), sent.time, taken.arrived, taken.time});
  messages.sent.erase(messages.sent.begin());
  messages.taken.erase(messages.taken.begin());
  if (messages.empty()) {
    all.erase(found);
  }
}

void save(const UnreportedById& all, pdes::StateWriter& writer) {
  writer.put(static_cast<std::uint64_t>(all.size()));
  for (const auto& [id, messages] : all) {
    writer.put(id);
    writer.put_all(messages.sent);
    writer.put_all(messages.arrived);
    writer.put_all(messages.taken);
  }
}

UnreportedById restore_unreported(pdes::StateReader& reader) {
  UnreportedById all;
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    UnreportedMessages& messages = all[reader.get<MessageId>()];
    messages.sent = reader.get_all<UnreportedMessages::Sent>();
    messages.arrived = reader.get_all<SimTime>();
    messages.taken = reader.get_all<UnreportedMessages::Taken>();
  }
  return all;
}

}  // namespace tessera::executor
