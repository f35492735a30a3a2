using System;
using System.Reflection;
using NUnit.Framework;
using Poprt;

/// <summary>Metadata of the assembly.</summary>
[TestFixture]
public class AssemblyTest
{
    private static AssemblyName Name() => typeof(ModelRunner).Assembly.GetName();

    [Test]
    public void HasAStrongName()
    {
        Assert.AreEqual(8, Name().GetPublicKeyToken().Length);
        Assert.That(Name().Flags.HasFlag(AssemblyNameFlags.PublicKey));
    }

    /// <summary>Strong names compare whole versions, so the version stays the same for later minor versions.</summary>
    [Test]
    public void KeepsItsIdentityWithinAMajorVersion()
    {
        Version version = Name().Version;
        Assert.AreEqual(new Version(version.Major, 0, 0, 0), version);
    }
}
