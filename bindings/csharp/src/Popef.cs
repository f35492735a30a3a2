namespace Poprt
{
    /// <summary>The details that <see cref="Popef.Dump"/> prints.</summary>
    public enum PopefFormat
    {
        /// <summary>Blobs and user anchors.</summary>
        Summary = 0,
        /// <summary>Everything in the metadata.</summary>
        Metadata = 1,
        /// <summary>Also the header of every blob.</summary>
        All = 2,
        /// <summary>All of the above, as JSON.</summary>
        Json = 3,
        /// <summary>Anchors that the caller must serve.</summary>
        UserAnchors = 4,
        /// <summary>Whether the checksums of all blobs are right, in one line. Since 1.0.</summary>
        Verify = 5
    }

    /// <summary>Describes PopEF files. <see cref="PopefReader"/> reads them.</summary>
    public static class Popef
    {
        /// <summary>Describes a file, as text or JSON.</summary>
        /// <exception cref="PoprtException">There is no such file, or it is damaged.</exception>
        public static string Dump(string path, PopefFormat format = PopefFormat.Summary)
        {
            return poprt_raw.raw_popef_dump(path, (int)format);
        }

        /// <summary>Writes the data of a tensor blob to a NumPy file.</summary>
        /// <param name="path">A PopEF file.</param>
        /// <param name="name">The name of the tensor.</param>
        /// <param name="npyPath">The file to write.</param>
        /// <param name="executable">The model of the data; "" for any.</param>
        /// <exception cref="PoprtException">NotFound: there is no such blob.</exception>
        public static void ExportTensor(string path, string name, string npyPath, string executable = "")
        {
            poprt_raw.raw_popef_export_tensor(path, name, executable, npyPath);
        }

        /// <summary>Writes the data of a feed blob to a NumPy file; its first dimension is the number of tensors.</summary>
        /// <param name="path">A PopEF file.</param>
        /// <param name="name">The name of the feed.</param>
        /// <param name="npyPath">The file to write.</param>
        /// <param name="executable">The model of the data; "" for any.</param>
        /// <exception cref="PoprtException">NotFound: there is no such blob.</exception>
        public static void ExportFeed(string path, string name, string npyPath, string executable = "")
        {
            poprt_raw.raw_popef_export_feed(path, name, executable, npyPath);
        }
    }
}
