/**
 * Ahead-of-time inference for ONNX models: {@link org.poprt.Compiler} makes an {@link
 * org.poprt.Executable}, a {@link org.poprt.ModelRunner} runs it.
 */
package org.poprt;
