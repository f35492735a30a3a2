"""Reads, writes and assembles PopEF files, with the names of the PopEF library.

>>> import numpy, popef
>>> writer = popef.FileWriter("weights.popef")
>>> info = popef.TensorDataInfo("w", popef.TensorInfo(popef.DataType.F32, [2, 3]))
>>> writer.createTensorData(info).write(numpy.ones((2, 3), numpy.float32))
>>> writer.close()
>>> reader = popef.Reader()
>>> reader.parseFile("weights.popef")
>>> reader.tensors()[0].data().shape
(2, 3)
"""

from poprt import DataType, Error

from poprt._popef.model import Model, ModelBuilder
from poprt._popef.reader import BlobReader, ExecutableReader, FeedReader, OpaqueReader, Reader, TensorReader
from poprt._popef.types import (Anchor, FeedDataInfo, Metadata, Option, ProgramFlow, TensorDataInfo, TensorInfo, TensorType,
                    popefTypeToNumpyDType)
from poprt._popef.writer import BlobWriter, FeedGroupWriter, FileWriter, Writer

__all__ = ["Anchor", "BlobReader", "BlobWriter", "DataType", "Error", "ExecutableReader", "FeedDataInfo",
           "FeedGroupWriter", "FeedReader", "FileWriter", "Metadata", "Model", "ModelBuilder", "OpaqueReader",
           "Option", "ProgramFlow", "Reader", "TensorDataInfo", "TensorInfo", "TensorReader", "TensorType", "Writer",
           "popefTypeToNumpyDType"]
