// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Maps doorbell pages when they are accessed, and takes them away again.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "bell.h"
#include "trap.h"

/* The private data of the file. */
struct trap {
	spinlock_t lock;		/* also held while bells are told of a fault */
	struct pinion_bells *bells;	/* under @lock; NULL: they have ended */
};

static int trap_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/* No process has a descriptor of such a file. */
static const struct file_operations trap_fops = {
	.owner = THIS_MODULE,
	.release = trap_release,
};

/* A new mapping: by mmap(), fork() or mremap(). Each has a reference to the page. */
static void trap_open(struct vm_area_struct *vma)
{
	get_page(vma->vm_private_data);
}

static void trap_close(struct vm_area_struct *vma)
{
	put_page(vma->vm_private_data);
}

static void trap_ring(struct trap *trap)
{
	guard(spinlock)(&trap->lock);
	if (trap->bells)
		pinion_bells_heard(trap->bells);
}

/*
 * mmap_lock is held, so nothing is executed here: requests may be about memory of this process.
 *
 * The page is mapped before the bells are told. If it is taken away in between, the store faults
 * again. The other way round, the bells could become idle in between, and the page would stay.
 */
static vm_fault_t trap_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	int err = vm_insert_page(vma, vma->vm_start, vma->vm_private_data);

	/* Another thread has mapped it already. */
	if (err && err != -EBUSY)
		return vmf_error(err);
	trap_ring(vma->vm_file->private_data);
	return VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct trap_vm_ops = {
	.open = trap_open,
	.close = trap_close,
	.fault = trap_fault,
};

struct file *pinion_trap_create(struct pinion_bells *bells)
{
	struct trap *trap;
	struct file *file;

	trap = kzalloc(sizeof(*trap), GFP_KERNEL_ACCOUNT);
	if (!trap)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&trap->lock);
	trap->bells = bells;
	/* It needs an inode of its own, for an address space that has these mappings only. */
	file = anon_inode_create_getfile("[pinion-doorbells]", &trap_fops, trap, O_RDWR, NULL);
	if (IS_ERR(file))
		kfree(trap);
	return file;
}

void pinion_trap_disarm(struct file *file)
{
	struct trap *trap = file->private_data;

	guard(spinlock)(&trap->lock);
	trap->bells = NULL;
}

void pinion_trap_add(struct file *trap, struct vm_area_struct *vma, struct page *page)
{
	/* The fault, which must not change flags, inserts a page of memory. */
	vm_flags_set(vma, VM_MIXEDMAP);
	vma_set_file(vma, trap);
	vma->vm_private_data = page;
	vma->vm_ops = &trap_vm_ops;
	trap_open(vma);
}

void pinion_trap_set(struct file *trap)
{
	unmap_mapping_range(trap->f_mapping, 0, 0, 1);
}
