#include "common/completion.h"

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part;
    if (found != std::string::npos) at = found + part.size();
  }
}

TEST(Completion, BashHasACaseForEachOptionOfChoices) {
  const std::string text = completion("bash");
  EXPECT_TRUE(text.starts_with("# bash completion of poprt, made by"));
  expect_parts(
      text,
      {"    *\" tf2onnx \"*)\n      words=\"-h --help --saved_model --signature_def --tag --inputs "
       "--outputs --opset --inputs_as_nchw --outputs_as_nchw\"\n      case \"$previous\" in\n      "
       "esac\n      ;;\n",
       "    *)\n      words=\"tf2onnx -h --help -i --input_model --output_model ",
       " --calibration_with_data --quantize --calibration_loss_type --quantize_loss_type ",
       "      case \"$previous\" in\n        --framework) COMPREPLY=($(compgen -W \"onnx "
       "tensorflow pytorch keras paddle sklearn lightgbm xgboost\" -- \"$current\")); return ;;\n",
       "        --calibration_loss_type|--quantize_loss_type) COMPREPLY=($(compgen -W \"mse mae "
       "snr kld cos_dist gptq minmax percentile entropy\" -- \"$current\")); return ;;\n",
       "      esac\n      ;;\n  esac\n", "\ncomplete -F _poprt poprt\n"});
  EXPECT_EQ(text.find("--output_dir)"), std::string::npos);
}

TEST(Completion, ZshDescribesOptionsAndValues) {
  const std::string text = completion("zsh");
  EXPECT_TRUE(text.starts_with("#compdef poprt\n"));
  expect_parts(
      text,
      {"tf2onnx] )); then\n    _arguments \\\n      '--saved_model[--input_model is the folder of "
       "a "
       "SavedModel]' \\\n      '--signature_def[Signature to convert]:signature_def:_files' \\\n",
       "      '*:file:_files'\n    return\n  fi\n  _arguments \\\n      '-i[ONNX model, a folder ",
       ":input_model:_files' \\\n      '--input_model[ONNX model, a folder ",
       "      '--show[Only print name, dtype and shape of every input and output; --input_shape "
       "and --batch_size are applied]' \\\n",
       ":framework:(onnx tensorflow pytorch keras paddle sklearn lightgbm xgboost)' \\\n",
       "with a warning; 0\\: the model'\\''s]:lowest_opset:_files'", "\\\\n in TEXT is a line feed",
       "segment_max_size=N\\[+N...\\] ", "      '*:file:_files'\n}\n", "compdef _poprt poprt\n"});
}

}  // namespace
}  // namespace poprt::cli
