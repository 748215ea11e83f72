#include "tessera/trace/parts_json.hpp"

#include <optional>

#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

void add(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) {
    object[key] = text;
  }
}

Json json_of(const ParameterInfo& info) {
  Json json{{"name", info.name}};
  add(json, "type", info.type);
  add(json, "unit", info.unit);
  // Words are no value: "as the topology says".
  add(json, info.is_value || info.type.empty() ? "default" : "without", info.default_value);
  add(json, "low", info.low);
  add(json, "high", info.high);
  if (!info.names.empty()) {
    json["names"] = info.names;
  }
  if (info.is_required) {
    json["required"] = true;
  }
  if (info.is_cost) {
    json["cost"] = true;
  }
  add(json, "help", info.help);
  return json;
}

// A bare number; none: it has a unit, or is no number.
std::optional<Json> number_of(const std::string& text) {
  std::optional<Json> parsed = Json::parse(text);
  return parsed && parsed->is_number() ? std::move(parsed) : std::nullopt;
}

constexpr const char* number_pattern = "^[-+]?[0-9][0-9.]*([eE][-+]?[0-9]+)?";

Json quantity() {
  return {{"type", "string"}, {"pattern", std::string(number_pattern) + " *[A-Za-z/%]+$"}};
}

Json any_of(const std::vector<Json>& some) {
  return {{"anyOf", some}};
}

Json schema_of_type(const std::string& type) {
  constexpr std::string_view list_of = "list of ";
  constexpr std::string_view or_file = " or file";
  constexpr std::string_view or_range = " or range";
  if (type.ends_with(or_file)) {
    return any_of(
        {schema_of_type(type.substr(0, type.size() - or_file.size())), {{"type", "string"}}});
  }
  if (type.ends_with(or_range)) {
    const Json one = schema_of_type(type.substr(0, type.size() - or_range.size()));
    return any_of({one, {{"type", "array"}, {"items", one}, {"minItems", 2}, {"maxItems", 2}}});
  }
  if (type.starts_with(list_of)) {
    return {{"type", "array"}, {"items", schema_of_type(type.substr(list_of.size()))}};
  }
  if (type == "boolean" || type == "integer" || type == "number") {
    return {{"type", type}};
  }
  if (type == "fraction") {
    return any_of({{{"type", "number"}, {"minimum", 0}, {"maximum", 1}}, quantity()});
  }
  if (type == "size" || type == "bandwidth" || type == "time" || type == "frequency" ||
      type == "operations" || type == "rate of operations") {
    return quantity();
  }
  if (type == "name" || type == "file") {
    return {{"type", "string"}};
  }
  if (type == "text") {
    return {{"type", {"string", "number", "boolean"}}};
  }
  if (type == "mapping") {
    return {{"type", "object"}};
  }
  if (type == "list") {
    return {{"type", "array"}};
  }
  if (type == "list or file") {
    return {{"type", {"array", "string"}}};
  }
  return Json::object();
}

Json schema_of(const ParameterInfo& info) {
  Json schema = schema_of_type(info.type);
  if (!info.names.empty()) {
    schema["enum"] = info.names;
  }
  if (info.type == "mapping" && !info.unit.empty()) {
    schema["additionalProperties"] = quantity();
  }
  const bool is_number = info.type == "integer" || info.type == "number";
  if (const auto low = number_of(info.low); low && is_number) {
    schema["minimum"] = *low;
  }
  if (const auto high = number_of(info.high); high && is_number) {
    schema["maximum"] = *high;
  }
  std::string help = info.help;
  if (!info.default_value.empty()) {
    help += (help.empty() ? "default: " : "; default: ") + info.default_value;
  }
  add(schema, "description", help);
  return schema;
}

// What two keys of one name (of different operators, say) have in common; {}: nothing.
Json common(const Json& one, const Json& other) {
  Json result = Json::object();
  for (const auto& [key, value] : one.members()) {
    const Json* const same = other.find(key);
    if (same != nullptr && *same == value) {
      result[key] = value;
    }
  }
  return result;
}

void put(Json& object, std::string_view name, const Json& schema);

// Nothing but what is there.
void close(Json& object) {
  if (!object.contains("additionalProperties")) {
    object["additionalProperties"] = false;
  }
}

// Below a key of a dotted name. Lists of mappings have their keys in `items`.
void put_below(Json& child, bool is_list, std::string_view rest, const Json& schema) {
  if (child.is_null() || child.is_bool()) {
    child = Json::object();
  }
  if (child.contains("enum") && !child.contains("properties")) {  // or a name
    const Json name = child;
    child = any_of({Json::object(), name});
  }
  if (child.contains("anyOf")) {  // or the name of a file
    put_below(child["anyOf"][0], is_list, rest, schema);
  } else if (is_list || (child.contains("type") && child.at("type") == "array")) {
    if (!child.contains("type")) {
      child["type"] = "array";
    }
    Json& items = child["items"];
    items = items.is_null() ? Json::object() : items;
    put(items, rest, schema);
    close(items);
  } else {
    child.erase("type");
    put(child, rest, schema);
    close(child);
  }
}

// Puts the schema of a key at its dotted name: NAME stands for names of the user's own, [] behind a
// name for a list of mappings. Mappings by name may be written as lists of mappings with names.
void put(Json& object, std::string_view name, const Json& schema) {
  const std::size_t dot = name.find('.');
  std::string first(name.substr(0, dot));
  const bool is_list = first.ends_with("[]");
  if (is_list) {
    first.resize(first.size() - 2);
  }
  const bool by_name = first == "NAME";
  object["type"] = by_name ? Json{"object", "array"} : Json("object");
  Json& child = by_name ? object["additionalProperties"] : object["properties"][first];
  if (dot != std::string_view::npos) {
    put_below(child, is_list, name.substr(dot + 1), schema);
  } else if (child.is_null() || child.is_bool()) {
    child = schema;
  } else if (child.contains("properties") || child.contains("items")) {
    const Json* const description = schema.find("description");  // a whole, beside its keys
    child["description"] = description != nullptr ? *description : Json("");
  } else {
    child = common(child, schema);
  }
}

const char* name_of(SectionInfo::Shape shape) {
  return shape == SectionInfo::Shape::list  ? "list"
         : shape == SectionInfo::Shape::map ? "map"
                                            : "mapping";
}

void mark(Json& object, const char* key, bool holds) {
  if (holds) {
    object[key] = true;
  }
}

Json tree_of(const SectionInfo& section);

Json trees_of(const std::vector<SectionInfo>& sections) {
  Json trees = Json::list();
  for (const SectionInfo& section : sections) {
    trees.push_back(tree_of(section));
  }
  return trees;
}

Json tree_of(const SectionInfo& section) {
  Json tree{{"name", section.name}};
  add(tree, "help", section.help);
  tree["shape"] = name_of(section.shape);
  mark(tree, "required", section.is_required);
  mark(tree, "file", section.may_be_file);
  mark(tree, "open", section.is_open);
  add(tree, "selector", section.selector);
  add(tree, "usual", section.usual);
  mark(tree, "keeps_others", section.keeps_others);
  tree["parameters"] = Json::list();
  for (const ParameterInfo& info : section.parameters) {
    tree["parameters"].push_back(json_of(info));
  }
  tree["choices"] = trees_of(section.choices);
  tree["otherwise"] = trees_of(section.otherwise);
  tree["sections"] = trees_of(section.sections);
  return tree;
}

Json whole_schema_of(const SectionInfo& section);

// Keys of the section itself, with those of the sections in it.
void put_own(Json& object, const SectionInfo& section, const std::string& selector = "") {
  object["type"] = "object";
  object["properties"];
  for (const ParameterInfo& info : section.parameters) {
    if (info.name == selector) {
      continue;  // also the name of a key in lists of the section
    }
    put(object, info.name, schema_of(info));
    if (info.is_required && info.name.find('.') == std::string::npos) {
      object["required"].push_back(info.name);
    }
  }
  for (const SectionInfo& part : section.sections) {
    object["properties"][part.name] = whole_schema_of(part);
    if (part.is_required) {
      object["required"].push_back(part.name);
    }
  }
}

// The section, which is `all` but for its choices, with one of them.
Json with_choice(const Json& all, const SectionInfo& section, const SectionInfo& choice) {
  Json chosen = all;
  if (section.keeps_others) {
    for (const SectionInfo& other : section.choices) {
      for (const ParameterInfo& info : other.parameters) {
        put(chosen, info.name.substr(0, info.name.find('.')), Json::object());
      }
    }
  }
  put_own(chosen, choice, section.selector);
  chosen["additionalProperties"] = choice.is_open || section.is_open;
  return chosen;
}

void put_choices(Json& object, const SectionInfo& section) {
  Json names = Json::list();
  for (const SectionInfo& choice : section.choices) {
    names.push_back(choice.name);
  }
  const Json selector{{"type", "string"}, {"enum", names}};
  object["properties"][section.selector] = selector;
  if (section.usual.empty() && section.otherwise.empty()) {
    object["required"].push_back(section.selector);
  }
  Json all = Json::list();
  for (const SectionInfo& choice : section.choices) {
    Json condition{{"properties", {{section.selector, {{"const", choice.name}}}}}};
    if (choice.name != section.usual) {
      condition["required"] = {section.selector};
    }
    all.push_back({{"if", std::move(condition)}, {"then", with_choice(object, section, choice)}});
  }
  for (const SectionInfo& other : section.otherwise) {
    const Json there{{"required", {section.selector}}};
    all.push_back({{"if", {{"not", there}}}, {"then", with_choice(object, section, other)}});
  }
  object["allOf"] = std::move(all);
}

Json mapping_of(const SectionInfo& section) {
  Json object = Json::object();
  put_own(object, section);
  if (section.selector.empty()) {
    if (!object.contains("additionalProperties")) {
      object["additionalProperties"] = section.is_open;
    }
  } else {
    put_choices(object, section);
  }
  return object;
}

Json whole_schema_of(const SectionInfo& section) {
  Json schema = mapping_of(section);
  if (section.shape == SectionInfo::Shape::list) {
    schema = {{"type", "array"}, {"items", std::move(schema)}};
  } else if (section.shape == SectionInfo::Shape::map) {
    schema = {{"type", "object"}, {"additionalProperties", std::move(schema)}};
  }
  if (section.may_be_file) {
    schema = any_of({std::move(schema), {{"type", "string"}}});
  }
  add(schema, "description", section.help);
  return schema;
}

}  // namespace

std::string to_json(const PartLists& lists) {
  Json json = Json::object();
  for (const auto& [kind, parts] : lists) {
    Json& of_kind = json[kind] = Json::object();
    for (const PartInfo& part : parts) {
      Json parameters = Json::list();
      for (const ParameterInfo& info : part.parameters) {
        Json parameter = json_of(info);
        add(parameter, "source", std::string(info.source));
        parameters.push_back(std::move(parameter));
      }
      of_kind[part.name] = {{"help", part.help}, {"parameters", std::move(parameters)}};
    }
  }
  return json.text(2) + "\n";
}

std::string to_json(const SectionInfo& root) {
  return tree_of(root).text(1) + "\n";
}

std::string to_json_schema(const SectionInfo& root) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", root.name}};
  SectionInfo body = root;
  body.may_be_file = false;
  schema.update(whole_schema_of(body));
  return schema.text(1) + "\n";
}

}  // namespace tessera::trace
