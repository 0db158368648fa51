// The importers of single formats, chosen by import_file. Each gets the file's text (but for
// safetensors, which are read from disk, headers only). Internal to models/importers.
#pragma once

#include <string>

#include "models/importers/importers.h"

namespace transload::importing {

struct Source {
  const std::string& path;
  const std::string& text;
  const ImportOptions& options;
};

Imported import_hf_config(const Source& source);
Imported import_safetensors_index(const Source& source);
Imported import_safetensors_file(const std::string& path, const ImportOptions& options);
Imported import_megatron(const Source& source);
Imported import_nemo_rl(const Source& source);
Imported import_serve(const Source& source);
Imported import_kubernetes(const Source& source);
Imported import_dtensor_dump(const Source& source);
Imported import_m2n_model(const Source& source);
Imported import_m2n_system(const Source& source);
Imported import_m2n_layers(const Source& source);

// The model of an index with its config.json; names beyond the family's list are an error.
Model model_of_index(const std::string& text, const std::string& path);

// The kind of a text, by its content; refuses what is no format of ours, with the reason.
ImportKind kind_of_text(const std::string& text, const std::string& path);

// True if the file begins like a *.safetensors: a small header length, then a brace.
bool is_safetensors(const std::string& path);

// Whether jobs can name this model by a library entry: the last part of "org/Name", lower case.
// A sentence for `understood` or `asked`.
struct LibraryMatch {
  std::string name;  // the library's; empty: none
  std::string sentence;
};
LibraryMatch library_match(const std::string& model);

}  // namespace transload::importing
