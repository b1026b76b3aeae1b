#include "tracker/symbols/module_symbols.h"

#include "tracker/symbols/debug_file.h"

namespace allomon::internal {

ModuleSymbols::ModuleSymbols(std::unique_ptr<ElfFile> file, const std::string& path)
    : file_(std::move(file)), build_id_(file_->BuildId()), fdes_(*file_) {
  symbols_.Add(*file_);
  if (!file_->FindSection(".symtab") && !path.empty()) {
    debug_file_ = OpenDebugFile(*file_, path);
  }
  if (debug_file_ != nullptr) symbols_.Add(*debug_file_);
  knows_all_ = file_->FindSection(".symtab") || debug_file_ != nullptr;
  symbols_.Sort();
}

ModuleSymbols::ModuleSymbols(std::unique_ptr<MappedImage> image, std::string build_id)
    : image_(std::move(image)),
      build_id_(std::move(build_id)),
      fdes_(image_->frames(), image_->header()) {
  symbols_.Add(image_->symbols(), image_->strings());
  symbols_.Sort();
}

std::optional<uint64_t> ModuleSymbols::AddressOfOffset(uint64_t offset) const {
  if (file_ == nullptr) return std::nullopt;
  return file_->AddressOfOffset(offset);
}

const FunctionSymbol* ModuleSymbols::FindSymbol(uint64_t address) const {
  const FunctionSymbol* symbol = symbols_.Find(address);
  if (symbol == nullptr || symbol->range.end != symbol->range.begin) return symbol;
  // A symbol without a size may be any distance below `address`: it counts only for its own
  // function.
  const std::optional<FunctionRange> fde = fdes_.Find(address);
  const bool is_its_own = fde ? fde->begin == symbol->range.begin : knows_all_;
  return is_its_own ? symbol : nullptr;
}

std::optional<SourceLine> ModuleSymbols::FindLine(uint64_t address) {
  if (file_ == nullptr) return std::nullopt;
  if (lines_ == nullptr) {
    const bool in_file = file_->FindSection(".debug_line").has_value();
    const bool elsewhere = !in_file && debug_file_ != nullptr;
    lines_ = std::make_unique<LineTable>(elsewhere ? *debug_file_ : *file_);
  }
  return lines_->Find(address);
}

}  // namespace allomon::internal
